; ModuleID = 'flow.cu'
source_filename = "flow.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: mustprogress nofree norecurse nosync nounwind willreturn memory(none)
define dso_local noundef i32 @_Z3oddj(i32 noundef %a) local_unnamed_addr #0 !dbg !10 {
entry:
  %mul = mul i32 %a, 3, !dbg !14
  %add = add i32 %mul, 1, !dbg !15
  ret i32 %add, !dbg !16
}

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define dso_local ptx_kernel void @flow(ptr noundef writeonly captures(none) %out, ptr noundef readonly captures(none) %in, i32 noundef %count) local_unnamed_addr #1 !dbg !17 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !18
  %1 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !19
  %mul = mul i32 %0, %1, !dbg !20
  %2 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !21
  %add = add i32 %mul, %2, !dbg !22
  %cmp.not = icmp ult i32 %add, %count, !dbg !23
  br i1 %cmp.not, label %if.end, label %cleanup, !dbg !23

if.end:                                           ; preds = %entry
  %idxprom = zext i32 %add to i64, !dbg !24
  %arrayidx = getelementptr inbounds nuw i32, ptr %in, i64 %idxprom, !dbg !24
  %3 = load i32, ptr %arrayidx, align 4, !dbg !24, !tbaa !6
  %add3 = add nuw i32 %add, 1, !dbg !25
  br label %while.body, !dbg !26

for.cond.preheader:                               ; preds = %while.body
  %cmp646.not = icmp eq i32 %add, 0, !dbg !27
  br i1 %cmp646.not, label %for.cond.cleanup, label %for.body, !dbg !28

while.body:                                       ; preds = %if.end, %while.body
  %b.045 = phi i32 [ %add3, %if.end ], [ %rem, %while.body ]
  %a.044 = phi i32 [ %3, %if.end ], [ %b.045, %while.body ]
  %rem = urem i32 %a.044, %b.045, !dbg !29
  %cmp4.not = icmp eq i32 %rem, 0, !dbg !30
  br i1 %cmp4.not, label %for.cond.preheader, label %while.body, !dbg !26, !llvm.loop !31

for.cond.cleanup:                                 ; preds = %for.body, %for.cond.preheader
  %steps.0.lcssa = phi i32 [ 0, %for.cond.preheader ], [ %inc, %for.body ], !dbg !33
  %rem11 = and i32 %add, 7, !dbg !34
  switch i32 %rem11, label %sw.default [
    i32 1, label %sw.bb
    i32 2, label %sw.bb13
    i32 5, label %sw.epilog
  ], !dbg !35

for.body:                                         ; preds = %for.cond.preheader, %for.body
  %n.048 = phi i32 [ %cond, %for.body ], [ %add3, %for.cond.preheader ]
  %steps.047 = phi i32 [ %inc, %for.body ], [ 0, %for.cond.preheader ]
  %rem8 = and i32 %n.048, 1, !dbg !36
  %cmp9 = icmp eq i32 %rem8, 0, !dbg !37
  %div43 = lshr exact i32 %n.048, 1, !dbg !38
  %mul.i = mul i32 %n.048, 3, !dbg !38
  %add.i = add i32 %mul.i, 1, !dbg !38
  %cond = select i1 %cmp9, i32 %div43, i32 %add.i, !dbg !38
  %inc = add nuw nsw i32 %steps.047, 1, !dbg !39
  %cmp6 = icmp ne i32 %cond, 1, !dbg !27
  %cmp7 = icmp samesign ult i32 %steps.047, 99, !dbg !40
  %4 = select i1 %cmp6, i1 %cmp7, i1 false, !dbg !40
  br i1 %4, label %for.body, label %for.cond.cleanup, !dbg !28, !llvm.loop !41

sw.bb:                                            ; preds = %for.cond.cleanup
  %add12 = add nuw nsw i32 %steps.0.lcssa, 1000, !dbg !43
  br label %sw.epilog, !dbg !44

sw.bb13:                                          ; preds = %for.cond.cleanup
  %xor = xor i32 %steps.0.lcssa, %b.045, !dbg !45
  br label %sw.epilog, !dbg !46

sw.default:                                       ; preds = %for.cond.cleanup
  %mul15 = shl nuw nsw i32 %steps.0.lcssa, 1, !dbg !47
  br label %sw.epilog, !dbg !48

sw.epilog:                                        ; preds = %for.cond.cleanup, %sw.default, %sw.bb13, %sw.bb
  %steps.1 = phi i32 [ %mul15, %sw.default ], [ %add12, %sw.bb ], [ %xor, %sw.bb13 ], [ %b.045, %for.cond.cleanup ], !dbg !33
  %mul16 = shl i32 %add, 1, !dbg !49
  %idxprom17 = zext i32 %mul16 to i64, !dbg !50
  %arrayidx18 = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom17, !dbg !50
  store i32 %b.045, ptr %arrayidx18, align 4, !dbg !51, !tbaa !6
  %add20 = or disjoint i32 %mul16, 1, !dbg !52
  %idxprom21 = zext i32 %add20 to i64, !dbg !53
  %arrayidx22 = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom21, !dbg !53
  store i32 %steps.1, ptr %arrayidx22, align 4, !dbg !54, !tbaa !6
  br label %cleanup, !dbg !55

cleanup:                                          ; preds = %entry, %sw.epilog
  ret void, !dbg !55
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 2147483647) i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 1, 1025) i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(none) "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" }
attributes #1 = { nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" "uniform-work-group-size"="true" }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3, !4}
!llvm.ident = !{!5}
!llvm.errno.tbaa = !{!6}

!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "clang version 22.1.8", isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly, splitDebugInlining: false, nameTableKind: None)
!1 = !DIFile(filename: "<stdin>", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 1, !"wchar_size", i32 4}
!4 = !{i32 4, !"nvvm-reflect-ftz", i32 0}
!5 = !{!"clang version 22.1.8"}
!6 = !{!7, !7, i64 0}
!7 = !{!"int", !8, i64 0}
!8 = !{!"omnipotent char", !9, i64 0}
!9 = !{!"Simple C++ TBAA"}
!10 = distinct !DISubprogram(name: "odd", scope: !11, file: !11, line: 2, type: !12, scopeLine: 3, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DIFile(filename: "flow.cu", directory: "")
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 4, column: 14, scope: !10)
!15 = !DILocation(line: 4, column: 18, scope: !10)
!16 = !DILocation(line: 4, column: 5, scope: !10)
!17 = distinct !DISubprogram(name: "flow", scope: !11, file: !11, line: 8, type: !12, scopeLine: 9, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!18 = !DILocation(line: 10, column: 22, scope: !17)
!19 = !DILocation(line: 10, column: 35, scope: !17)
!20 = !DILocation(line: 10, column: 33, scope: !17)
!21 = !DILocation(line: 10, column: 48, scope: !17)
!22 = !DILocation(line: 10, column: 46, scope: !17)
!23 = !DILocation(line: 11, column: 11, scope: !17)
!24 = !DILocation(line: 13, column: 22, scope: !17)
!25 = !DILocation(line: 13, column: 35, scope: !17)
!26 = !DILocation(line: 14, column: 5, scope: !17)
!27 = !DILocation(line: 20, column: 36, scope: !17)
!28 = !DILocation(line: 20, column: 5, scope: !17)
!29 = !DILocation(line: 15, column: 31, scope: !17)
!30 = !DILocation(line: 14, column: 14, scope: !17)
!31 = distinct !{!31, !26, !32}
!32 = !DILocation(line: 18, column: 5, scope: !17)
!33 = !DILocation(line: 0, scope: !17)
!34 = !DILocation(line: 22, column: 15, scope: !17)
!35 = !DILocation(line: 22, column: 5, scope: !17)
!36 = !DILocation(line: 21, column: 15, scope: !17)
!37 = !DILocation(line: 21, column: 19, scope: !17)
!38 = !DILocation(line: 21, column: 13, scope: !17)
!39 = !DILocation(line: 20, column: 62, scope: !17)
!40 = !DILocation(line: 20, column: 41, scope: !17)
!41 = distinct !{!41, !28, !42}
!42 = !DILocation(line: 21, column: 39, scope: !17)
!43 = !DILocation(line: 23, column: 19, scope: !17)
!44 = !DILocation(line: 23, column: 28, scope: !17)
!45 = !DILocation(line: 24, column: 19, scope: !17)
!46 = !DILocation(line: 24, column: 25, scope: !17)
!47 = !DILocation(line: 26, column: 20, scope: !17)
!48 = !DILocation(line: 27, column: 5, scope: !17)
!49 = !DILocation(line: 28, column: 11, scope: !17)
!50 = !DILocation(line: 28, column: 5, scope: !17)
!51 = !DILocation(line: 28, column: 16, scope: !17)
!52 = !DILocation(line: 29, column: 15, scope: !17)
!53 = !DILocation(line: 29, column: 5, scope: !17)
!54 = !DILocation(line: 29, column: 20, scope: !17)
!55 = !DILocation(line: 30, column: 1, scope: !17)
