; ModuleID = 'warp.cu'
source_filename = "warp.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%printf_args = type { i32, i32, double }

@_ZZ4warpE6counts = internal addrspace(3) global [8 x i32] undef, align 4
@.str = private unnamed_addr constant [9 x i8] c"bins > 1\00", align 1
@.str1 = private unnamed_addr constant [8 x i8] c"warp.cu\00", align 1
@__PRETTY_FUNCTION__.warp = private unnamed_addr constant [49 x i8] c"void warp(unsigned int *, unsigned short *, int)\00", align 1
@.str2 = private unnamed_addr constant [14 x i8] c"%d of %u: %f\0A\00", align 1

; Function Attrs: convergent noinline norecurse nounwind
define dso_local ptx_kernel void @warp(ptr noundef writeonly captures(none) %out, ptr noundef writeonly captures(none) %halves, i32 noundef %bins) local_unnamed_addr #0 !dbg !10 {
entry:
  %tmp = alloca %printf_args, align 8
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !14
  %mul = mul nuw nsw i32 %0, 7, !dbg !15
  %add = add nuw nsw i32 %mul, 3, !dbg !16
  %cmp = icmp samesign ult i32 %0, 8, !dbg !17
  %idxprom = zext nneg i32 %0 to i64
  br i1 %cmp, label %if.then, label %if.end, !dbg !17

if.then:                                          ; preds = %entry
  %arrayidx = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ4warpE6counts to ptr), i64 %idxprom
  store i32 0, ptr %arrayidx, align 4, !dbg !18, !tbaa !6
  br label %if.end, !dbg !19

if.end:                                           ; preds = %entry, %if.then
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !20
  %rem = and i32 %add, 7, !dbg !21
  %idxprom1 = zext nneg i32 %rem to i64, !dbg !22
  %arrayidx2 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ4warpE6counts to ptr), i64 %idxprom1, !dbg !22
  %1 = atomicrmw add ptr %arrayidx2, i32 1 monotonic, align 4, !dbg !23
  %2 = tail call noundef i32 asm sideeffect "atom.cta.max.s32 $0, [$1], $2;", "=r,l,r,~{memory}"(ptr addrspacecast (ptr addrspace(3) @_ZZ4warpE6counts to ptr), i32 %bins) #5, !dbg !24, !srcloc !25
  %rem5.lhs.trunc = trunc nuw nsw i32 %add to i16, !dbg !26
  %rem560 = urem i16 %rem5.lhs.trunc, 3, !dbg !26
  %cmp6 = icmp eq i16 %rem560, 0, !dbg !27
  %3 = tail call noundef i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %cmp6), !dbg !28
  %conv8 = uitofp nneg i32 %0 to float, !dbg !29
  %4 = bitcast float %conv8 to i32, !dbg !30
  %5 = tail call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %4, i32 5, i32 31), !dbg !30
  %6 = bitcast i32 %5 to float, !dbg !30
  %7 = tail call i32 @llvm.nvvm.shfl.sync.up.i32(i32 -1, i32 1065353216, i32 2, i32 0), !dbg !31
  %8 = bitcast i32 %7 to float, !dbg !31
  %add11 = fadd contract float %6, %8, !dbg !32
  %9 = tail call i32 asm "mad.lo.u32 $0, $1, $2, $0;", "=r,r,n,0"(i32 %0, i32 5, i32 %add) #6, !dbg !33, !srcloc !34
  %arrayidx13 = getelementptr inbounds nuw i16, ptr %halves, i64 %idxprom, !dbg !35
  %conv14 = trunc i32 %9 to i16, !dbg !36
  %10 = tail call i16 asm sideeffect "{ .reg .b16 h; add.u16 h, $1, $1; mov.b16 $0, h; }", "=h,h"(i16 %conv14) #5, !dbg !37, !srcloc !38
  store i16 %10, ptr %arrayidx13, align 2, !dbg !37, !tbaa !39
  tail call void asm sideeffect "membar.cta;", ""() #5, !dbg !41, !srcloc !42
  tail call void @llvm.nvvm.bar.warp.sync(i32 -1), !dbg !43
  %cmp15 = icmp sgt i32 %bins, 1, !dbg !44
  br i1 %cmp15, label %cond.end, label %cond.false, !dbg !45

cond.false:                                       ; preds = %if.end
  tail call void @__assertfail(ptr noundef nonnull @.str, ptr noundef nonnull @.str1, i32 noundef 18, ptr noundef nonnull @__PRETTY_FUNCTION__.warp, i64 noundef 1) #7, !dbg !45
  unreachable, !dbg !45

cond.end:                                         ; preds = %if.end
  %cmp16 = icmp eq i32 %0, 31, !dbg !46
  br i1 %cmp16, label %if.then17, label %if.end19, !dbg !46

if.then17:                                        ; preds = %cond.end
  %11 = getelementptr inbounds nuw i8, ptr %tmp, i64 8
  %12 = getelementptr inbounds nuw i8, ptr %tmp, i64 4
  %conv18 = fpext contract float %add11 to double
  store i32 %bins, ptr %tmp, align 8, !dbg !47
  store i32 %3, ptr %12, align 4, !dbg !47
  store double %conv18, ptr %11, align 8, !dbg !47
  %13 = call i32 @vprintf(ptr nonnull @.str2, ptr nonnull %tmp) #8, !dbg !47
  br label %if.end19, !dbg !47

if.end19:                                         ; preds = %if.then17, %cond.end
  %cmp20 = icmp eq i32 %0, 40, !dbg !48
  %14 = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %cmp20), !dbg !49
  br i1 %14, label %lor.end, label %lor.rhs, !dbg !50

lor.rhs:                                          ; preds = %if.end19
  %cmp23 = icmp samesign ult i32 %0, 32
  %15 = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %cmp23), !dbg !51
  %conv.i59 = zext i1 %15 to i32, !dbg !51
  br label %lor.end, !dbg !50

lor.end:                                          ; preds = %lor.rhs, %if.end19
  %conv27 = phi i32 [ 1, %if.end19 ], [ %conv.i59, %lor.rhs ]
  %add28 = add i32 %9, %3, !dbg !52
  %conv29 = fptoui float %add11 to i32, !dbg !53
  %add30 = add i32 %add28, %conv29, !dbg !54
  %add31 = add i32 %add30, %conv27, !dbg !55
  %rem32 = and i32 %0, 7, !dbg !56
  %idxprom33 = zext nneg i32 %rem32 to i64, !dbg !57
  %arrayidx34 = getelementptr inbounds nuw i32, ptr addrspacecast (ptr addrspace(3) @_ZZ4warpE6counts to ptr), i64 %idxprom33, !dbg !57
  %16 = cmpxchg ptr %arrayidx34, i32 4, i32 9 monotonic monotonic, align 4, !dbg !58
  %17 = extractvalue { i32, i1 } %16, 0, !dbg !58
  %add36 = add i32 %add31, %17, !dbg !59
  %arrayidx38 = getelementptr inbounds nuw i32, ptr %out, i64 %idxprom, !dbg !60
  store i32 %add36, ptr %arrayidx38, align 4, !dbg !61, !tbaa !6
  ret void, !dbg !62
}

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #1

; Function Attrs: convergent noreturn nounwind
declare void @__assertfail(ptr noundef, ptr noundef, i32 noundef, ptr noundef, i64 noundef) local_unnamed_addr #2

declare i32 @vprintf(ptr, ptr) local_unnamed_addr

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #3

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1) #4

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.bar.warp.sync(i32) #1

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1) #4

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1) #4

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32) #4

; Function Attrs: convergent nocallback nounwind memory(inaccessiblemem: readwrite)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32) #4

attributes #0 = { convergent noinline norecurse nounwind "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" "uniform-work-group-size"="true" }
attributes #1 = { convergent nocallback nounwind }
attributes #2 = { convergent noreturn nounwind "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" }
attributes #3 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { convergent nocallback nounwind memory(inaccessiblemem: readwrite) }
attributes #5 = { convergent nounwind }
attributes #6 = { convergent nounwind memory(none) }
attributes #7 = { convergent noreturn nounwind }
attributes #8 = { nounwind }

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
!10 = distinct !DISubprogram(name: "warp", scope: !11, file: !11, line: 2, type: !12, scopeLine: 3, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DIFile(filename: "warp.cu", directory: "")
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 5, column: 22, scope: !10)
!15 = !DILocation(line: 5, column: 41, scope: !10)
!16 = !DILocation(line: 5, column: 45, scope: !10)
!17 = !DILocation(line: 6, column: 11, scope: !10)
!18 = !DILocation(line: 7, column: 19, scope: !10)
!19 = !DILocation(line: 7, column: 9, scope: !10)
!20 = !DILocation(line: 8, column: 5, scope: !10)
!21 = !DILocation(line: 9, column: 25, scope: !10)
!22 = !DILocation(line: 9, column: 16, scope: !10)
!23 = !DILocation(line: 9, column: 5, scope: !10)
!24 = !DILocation(line: 10, column: 5, scope: !10)
!25 = !{i64 2147661413}
!26 = !DILocation(line: 11, column: 45, scope: !10)
!27 = !DILocation(line: 11, column: 49, scope: !10)
!28 = !DILocation(line: 11, column: 24, scope: !10)
!29 = !DILocation(line: 12, column: 43, scope: !10)
!30 = !DILocation(line: 12, column: 15, scope: !10)
!31 = !DILocation(line: 12, column: 51, scope: !10)
!32 = !DILocation(line: 12, column: 49, scope: !10)
!33 = !DILocation(line: 13, column: 5, scope: !10)
!34 = !{i64 525}
!35 = !DILocation(line: 15, column: 25, scope: !10)
!36 = !DILocation(line: 15, column: 58, scope: !10)
!37 = !DILocation(line: 14, column: 5, scope: !10)
!38 = !{i64 600}
!39 = !{!40, !40, i64 0}
!40 = !{!"short", !8, i64 0}
!41 = !DILocation(line: 16, column: 5, scope: !10)
!42 = !{i64 732}
!43 = !DILocation(line: 17, column: 5, scope: !10)
!44 = !DILocation(line: 18, column: 17, scope: !10)
!45 = !DILocation(line: 18, column: 5, scope: !10)
!46 = !DILocation(line: 19, column: 11, scope: !10)
!47 = !DILocation(line: 20, column: 9, scope: !10)
!48 = !DILocation(line: 21, column: 33, scope: !10)
!49 = !DILocation(line: 21, column: 15, scope: !10)
!50 = !DILocation(line: 21, column: 40, scope: !10)
!51 = !DILocation(line: 21, column: 43, scope: !10)
!52 = !DILocation(line: 22, column: 16, scope: !10)
!53 = !DILocation(line: 22, column: 38, scope: !10)
!54 = !DILocation(line: 22, column: 22, scope: !10)
!55 = !DILocation(line: 22, column: 40, scope: !10)
!56 = !DILocation(line: 22, column: 82, scope: !10)
!57 = !DILocation(line: 22, column: 73, scope: !10)
!58 = !DILocation(line: 22, column: 62, scope: !10)
!59 = !DILocation(line: 22, column: 46, scope: !10)
!60 = !DILocation(line: 22, column: 5, scope: !10)
!61 = !DILocation(line: 22, column: 12, scope: !10)
!62 = !DILocation(line: 23, column: 1, scope: !10)
