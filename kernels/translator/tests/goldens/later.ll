; ModuleID = 'later.cu'
source_filename = "later.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: nofree noinline norecurse nosync nounwind memory(argmem: readwrite)
define dso_local ptx_kernel void @later(ptr noundef readonly captures(none) %in, ptr noundef writeonly captures(none) %out, i32 noundef %n) local_unnamed_addr #0 !dbg !10 {
entry:
  %cmp12 = icmp sgt i32 %n, 0, !dbg !14
  br i1 %cmp12, label %for.body.lr.ph, label %for.cond.cleanup, !dbg !15

for.body.lr.ph:                                   ; preds = %entry
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %for.body, !dbg !15

for.cond.cleanup:                                 ; preds = %if.end, %entry
  ret void, !dbg !16

for.body:                                         ; preds = %for.body.lr.ph, %if.end
  %previous.014 = phi i32 [ undef, %for.body.lr.ph ], [ %1, %if.end ]
  %i.013 = phi i32 [ 0, %for.body.lr.ph ], [ %inc, %if.end ]
  %mul = shl nsw i32 %i.013, 5, !dbg !17
  %add = add nuw i32 %mul, %0, !dbg !18
  %idxprom = zext i32 %add to i64, !dbg !19
  %arrayidx = getelementptr inbounds nuw i32, ptr %in, i64 %idxprom, !dbg !19
  %1 = load i32, ptr %arrayidx, align 4, !dbg !19, !tbaa !6
  %2 = and i32 %1, 1, !dbg !20
  %cmp1 = icmp eq i32 %2, 0, !dbg !20
  br i1 %cmp1, label %if.then, label %if.end, !dbg !20

if.then:                                          ; preds = %for.body
  %arrayidx6 = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom
  %sub = sub nsw i32 %previous.014, %1
  store i32 %sub, ptr %arrayidx6, align 4, !dbg !21, !tbaa !6
  br label %if.end, !dbg !22

if.end:                                           ; preds = %if.then, %for.body
  %inc = add nuw nsw i32 %i.013, 1, !dbg !23
  %exitcond.not = icmp eq i32 %inc, %n, !dbg !14
  br i1 %exitcond.not, label %for.cond.cleanup, label %for.body, !dbg !15, !llvm.loop !24
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

attributes #0 = { nofree noinline norecurse nosync nounwind memory(argmem: readwrite) "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }

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
!10 = distinct !DISubprogram(name: "later", scope: !11, file: !11, line: 2, type: !12, scopeLine: 2, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DIFile(filename: "later.cu", directory: "")
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 4, column: 23, scope: !10)
!15 = !DILocation(line: 4, column: 5, scope: !10)
!16 = !DILocation(line: 9, column: 1, scope: !10)
!17 = !DILocation(line: 5, column: 27, scope: !10)
!18 = !DILocation(line: 5, column: 31, scope: !10)
!19 = !DILocation(line: 5, column: 21, scope: !10)
!20 = !DILocation(line: 6, column: 23, scope: !10)
!21 = !DILocation(line: 6, column: 55, scope: !10)
!22 = !DILocation(line: 6, column: 29, scope: !10)
!23 = !DILocation(line: 4, column: 29, scope: !10)
!24 = distinct !{!24, !15, !25}
!25 = !DILocation(line: 8, column: 5, scope: !10)
