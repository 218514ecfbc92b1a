; ModuleID = 'pieces.cu'
source_filename = "pieces.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Pixel = type { i8, i8, i8, i8 }
%struct.Particle = type { float, float, float, i32 }

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @pieces(ptr noundef readonly captures(none) %in, ptr noundef writeonly captures(none) %out, ptr noundef captures(none) %particles, ptr noundef captures(none) %words, i32 noundef %by) local_unnamed_addr #0 !dbg !10 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !14
  %sub = sub nsw i32 31, %0, !dbg !15
  %idxprom = sext i32 %sub to i64, !dbg !16
  %arrayidx = getelementptr inbounds %struct.Pixel, ptr %in, i64 %idxprom, !dbg !16
  %idxprom1 = zext nneg i32 %0 to i64, !dbg !17
  %arrayidx2 = getelementptr inbounds nuw %struct.Pixel, ptr %out, i64 %idxprom1, !dbg !17
  %1 = load i32, ptr %arrayidx, align 1, !dbg !18
  store i32 %1, ptr %arrayidx2, align 1, !dbg !18
  %arrayidx4 = getelementptr inbounds nuw %struct.Particle, ptr %particles, i64 %idxprom1, !dbg !19
  %particle.sroa.0.0.copyload = load float, ptr %arrayidx4, align 4, !dbg !19, !tbaa !20
  %particle.sroa.6.0.arrayidx4.sroa_idx = getelementptr inbounds nuw i8, ptr %arrayidx4, i64 4, !dbg !19
  %2 = load i64, ptr %particle.sroa.6.0.arrayidx4.sroa_idx, align 4, !dbg !19
  %particle.sroa.622.0.arrayidx4.sroa_idx = getelementptr inbounds nuw i8, ptr %arrayidx4, i64 12, !dbg !19
  %particle.sroa.622.0.copyload = load i32, ptr %particle.sroa.622.0.arrayidx4.sroa_idx, align 4, !dbg !19, !tbaa !6
  %add = fadd contract float %particle.sroa.0.0.copyload, 5.000000e-01, !dbg !22
  %add5 = add nsw i32 %particle.sroa.622.0.copyload, 100, !dbg !23
  %arrayidx8 = getelementptr i8, ptr %arrayidx4, i64 512, !dbg !24
  store float %add, ptr %arrayidx8, align 4, !dbg !25, !tbaa !20
  %particle.sroa.6.0.arrayidx8.sroa_idx = getelementptr i8, ptr %arrayidx4, i64 516, !dbg !25
  store i64 %2, ptr %particle.sroa.6.0.arrayidx8.sroa_idx, align 4, !dbg !25
  %particle.sroa.622.0.arrayidx8.sroa_idx = getelementptr i8, ptr %arrayidx4, i64 524, !dbg !25
  store i32 %add5, ptr %particle.sroa.622.0.arrayidx8.sroa_idx, align 4, !dbg !25, !tbaa !6
  %arrayidx10 = getelementptr inbounds nuw i64, ptr %words, i64 %idxprom1, !dbg !26
  %3 = load i64, ptr %arrayidx10, align 8, !dbg !26, !tbaa !27
  %or = tail call i64 @llvm.fshl.i64(i64 %3, i64 %3, i64 7), !dbg !29
  %sh_prom = zext nneg i32 %by to i64, !dbg !30
  %shr11 = lshr i64 %3, %sh_prom, !dbg !30
  %sub12 = sub nsw i32 64, %by, !dbg !31
  %sh_prom13 = zext nneg i32 %sub12 to i64, !dbg !32
  %shl14 = shl i64 %3, %sh_prom13, !dbg !32
  %or15 = or i64 %shr11, %shl14, !dbg !33
  %xor = xor i64 %or15, %or, !dbg !34
  store i64 %xor, ptr %arrayidx10, align 8, !dbg !35, !tbaa !27
  ret void, !dbg !36
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.fshl.i64(i64, i64, i64) #2

attributes #0 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

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
!10 = distinct !DISubprogram(name: "pieces", scope: !11, file: !11, line: 10, type: !12, scopeLine: 12, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DIFile(filename: "pieces.cu", directory: "")
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 13, column: 13, scope: !10)
!15 = !DILocation(line: 14, column: 20, scope: !10)
!16 = !DILocation(line: 14, column: 14, scope: !10)
!17 = !DILocation(line: 14, column: 5, scope: !10)
!18 = !DILocation(line: 14, column: 12, scope: !10)
!19 = !DILocation(line: 15, column: 25, scope: !10)
!20 = !{!21, !21, i64 0}
!21 = !{!"float", !8, i64 0}
!22 = !DILocation(line: 16, column: 16, scope: !10)
!23 = !DILocation(line: 17, column: 19, scope: !10)
!24 = !DILocation(line: 18, column: 5, scope: !10)
!25 = !DILocation(line: 18, column: 23, scope: !10)
!26 = !DILocation(line: 19, column: 31, scope: !10)
!27 = !{!28, !28, i64 0}
!28 = !{!"long long", !8, i64 0}
!29 = !DILocation(line: 20, column: 27, scope: !10)
!30 = !DILocation(line: 20, column: 49, scope: !10)
!31 = !DILocation(line: 20, column: 69, scope: !10)
!32 = !DILocation(line: 20, column: 62, scope: !10)
!33 = !DILocation(line: 20, column: 55, scope: !10)
!34 = !DILocation(line: 20, column: 41, scope: !10)
!35 = !DILocation(line: 20, column: 14, scope: !10)
!36 = !DILocation(line: 21, column: 1, scope: !10)
