; ModuleID = 'numbers.cu'
source_filename = "numbers.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: convergent noinline norecurse nounwind memory(argmem: readwrite)
define dso_local ptx_kernel void @numbers(ptr noundef readonly captures(none) %bytes, ptr noundef readonly captures(none) %shorts, ptr noundef writeonly captures(none) %out, ptr noundef writeonly captures(none) %floats) local_unnamed_addr #0 !dbg !10 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !14
  %idxprom = zext nneg i32 %0 to i64, !dbg !15
  %arrayidx = getelementptr inbounds nuw i8, ptr %bytes, i64 %idxprom, !dbg !15
  %1 = load i8, ptr %arrayidx, align 1, !dbg !15, !tbaa !16
  %arrayidx2 = getelementptr inbounds nuw i16, ptr %shorts, i64 %idxprom, !dbg !17
  %2 = load i16, ptr %arrayidx2, align 2, !dbg !17, !tbaa !18
  %conv = sext i8 %1 to i32, !dbg !20
  %conv3 = trunc i16 %2 to i8, !dbg !21
  %add = add i8 %1, %conv3, !dbg !22
  %mul = mul i8 %1, %conv3, !dbg !23
  %conv10 = sext i8 %1 to i64, !dbg !24
  %conv11 = zext i16 %2 to i32, !dbg !25
  %conv12 = zext i16 %2 to i64, !dbg !26
  %mul13 = mul nsw i64 %conv12, %conv10, !dbg !27
  %conv14 = sext i8 %add to i64, !dbg !28
  %mul15 = shl nuw nsw i32 %0, 3, !dbg !29
  %idxprom16 = zext nneg i32 %mul15 to i64, !dbg !30
  %arrayidx17 = getelementptr inbounds nuw i64, ptr %out, i64 %idxprom16, !dbg !30
  store i64 %conv14, ptr %arrayidx17, align 8, !dbg !31, !tbaa !32
  %3 = udiv i8 %mul, 3, !dbg !34
  %conv19 = zext nneg i8 %3 to i64, !dbg !35
  %arrayidx23 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 8, !dbg !36
  store i64 %conv19, ptr %arrayidx23, align 8, !dbg !37, !tbaa !32
  %and = and i32 %0, 7, !dbg !38
  %sh_prom = zext nneg i32 %and to i64, !dbg !39
  %shr = ashr i64 %mul13, %sh_prom, !dbg !39
  %arrayidx27 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 16, !dbg !40
  store i64 %shr, ptr %arrayidx27, align 8, !dbg !41, !tbaa !32
  %div28 = udiv i64 %mul13, 7, !dbg !42
  %arrayidx32 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 24, !dbg !43
  store i64 %div28, ptr %arrayidx32, align 8, !dbg !44, !tbaa !32
  %4 = tail call noundef range(i32 0, 17) i32 @llvm.ctpop.i32(i32 range(i32 0, 65536) %conv11), !dbg !45
  %5 = tail call noundef range(i32 16, 33) i32 @llvm.ctlz.i32(i32 range(i32 0, 65536) %conv11, i1 false), !dbg !46
  %shl = shl nuw nsw i32 %5, 8, !dbg !47
  %add37 = or disjoint i32 %shl, %4, !dbg !48
  %6 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 range(i32 0, 65536) %conv11, i1 true), !dbg !49
  %iszero.i = icmp eq i16 %2, 0, !dbg !49
  %7 = shl nuw nsw i32 %6, 16, !dbg !50
  %8 = add nuw nsw i32 %7, 65536, !dbg !50
  %shl40 = select i1 %iszero.i, i32 0, i32 %8, !dbg !49
  %add41 = or disjoint i32 %shl40, %add37, !dbg !51
  %conv42 = zext nneg i32 %add41 to i64, !dbg !45
  %arrayidx46 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 32, !dbg !52
  store i64 %conv42, ptr %arrayidx46, align 8, !dbg !53, !tbaa !32
  %cond.i = tail call noundef range(i32 -128, 128) i32 @llvm.smin.i32(i32 range(i32 -128, 128) %conv, i32 3), !dbg !54
  %9 = tail call i32 @llvm.umax.i32(i32 %0, i32 5), !dbg !55
  %mul50 = mul nsw i32 %cond.i, %9, !dbg !56
  %cond.i162 = tail call noundef range(i32 -128, 129) i32 @llvm.abs.i32(i32 range(i32 -128, 128) %conv, i1 true), !dbg !57
  %sub = sub nsw i32 %mul50, %cond.i162, !dbg !58
  %conv53 = sext i32 %sub to i64, !dbg !54
  %arrayidx57 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 40, !dbg !59
  store i64 %conv53, ptr %arrayidx57, align 8, !dbg !60, !tbaa !32
  %10 = tail call noundef i64 asm "mul.hi.u64 $0, $1, $2;", "=l,l,l"(i64 range(i64 -8388480, 8322946) %mul13, i64 -7046029254386353131) #6, !dbg !61, !srcloc !62
  %arrayidx62 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 48, !dbg !63
  store i64 %10, ptr %arrayidx62, align 8, !dbg !64, !tbaa !32
  %11 = tail call noundef i32 @llvm.bitreverse.i32(i32 range(i32 0, 65536) %conv11), !dbg !65
  %12 = tail call noundef i32 asm "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r"(i32 range(i32 0, 65536) %conv11, i32 range(i32 -128, 128) %conv, i32 21520) #6, !dbg !66, !srcloc !67
  %xor = xor i32 %12, %11, !dbg !68
  %conv68 = zext i32 %xor to i64, !dbg !65
  %arrayidx72 = getelementptr inbounds nuw i8, ptr %arrayidx17, i64 56, !dbg !69
  store i64 %conv68, ptr %arrayidx72, align 8, !dbg !70, !tbaa !32
  %conv73 = uitofp i16 %2 to float, !dbg !71
  %conv74 = sitofp i8 %1 to float, !dbg !72
  %mul75 = fmul contract float %conv74, %conv73, !dbg !73
  %add76 = fadd contract float %mul75, 5.000000e-01, !dbg !74
  %mul77 = shl nuw nsw i32 %0, 2, !dbg !75
  %idxprom78 = zext nneg i32 %mul77 to i64, !dbg !76
  %arrayidx79 = getelementptr inbounds nuw float, ptr %floats, i64 %idxprom78, !dbg !76
  store float %add76, ptr %arrayidx79, align 4, !dbg !77, !tbaa !78
  %mul80 = fmul contract float %conv73, 3.000000e+00, !dbg !80
  %mul81 = fmul contract float %conv74, %conv74, !dbg !81
  %sub82 = fsub contract float %mul80, %mul81, !dbg !82
  %arrayidx86 = getelementptr inbounds nuw i8, ptr %arrayidx79, i64 4, !dbg !83
  store float %sub82, ptr %arrayidx86, align 4, !dbg !84, !tbaa !78
  %cmp = icmp sgt i8 %1, 0, !dbg !85
  br i1 %cmp, label %cond.true, label %cond.false, !dbg !86

cond.true:                                        ; preds = %entry
  %fneg = fneg contract float %conv73, !dbg !87
  br label %cond.end, !dbg !86

cond.false:                                       ; preds = %entry
  %div93 = fdiv contract float %conv73, 3.000000e+00, !dbg !88
  br label %cond.end, !dbg !86

cond.end:                                         ; preds = %cond.false, %cond.true
  %cond = phi contract float [ %fneg, %cond.true ], [ %div93, %cond.false ], !dbg !86
  %mul89 = fmul contract float %conv74, 0x3FD3333340000000, !dbg !89
  %13 = tail call contract noundef float @llvm.rint.f32(float %mul89), !dbg !90
  %14 = tail call contract noundef float @llvm.nvvm.sqrt.rn.f(float %conv73), !dbg !91
  %15 = tail call noundef float @llvm.maxnum.f32(float %14, float %conv74), !dbg !92
  %add91 = fadd contract float %13, %15, !dbg !93
  %add94 = fadd contract float %cond, %add91, !dbg !94
  %arrayidx98 = getelementptr inbounds nuw i8, ptr %arrayidx79, i64 8, !dbg !95
  store float %add94, ptr %arrayidx98, align 4, !dbg !96, !tbaa !78
  %mul99 = fmul contract float %conv74, 0x3F847AE140000000, !dbg !97
  %16 = tail call noundef float @llvm.fma.f32(float %mul99, float 0x3F777313A0000000, float 5.000000e-01), !dbg !98
  %17 = tail call contract float @llvm.nvvm.saturate.f(float %16), !dbg !98
  %18 = tail call contract float @llvm.nvvm.fma.rm.f(float %17, float 2.520000e+02, float 0x4168000020000000), !dbg !98
  %sub.i = fadd contract float %18, 0xC168000FE0000000, !dbg !98
  %fneg.i = fneg contract float %sub.i, !dbg !98
  %19 = tail call noundef float @llvm.fma.f32(float %mul99, float 0x3FF7154760000000, float %fneg.i), !dbg !98
  %20 = tail call noundef float @llvm.fma.f32(float %mul99, float 0x3E54AE0C00000000, float %19), !dbg !98
  %21 = tail call contract float @llvm.nvvm.ex2.approx.ftz.f32(float %20), !dbg !98
  %22 = bitcast float %18 to i32, !dbg !98
  %shl.i = shl i32 %22, 23, !dbg !98
  %23 = bitcast i32 %shl.i to float, !dbg !98
  %mul.i = fmul contract float %21, %23, !dbg !98
  %mul101 = fmul contract float %conv74, 0x3FFB333340000000, !dbg !99
  %conv102 = fptosi float %mul101 to i32, !dbg !100
  %conv103 = sitofp i32 %conv102 to float, !dbg !101
  %add104 = fadd contract float %mul.i, %conv103, !dbg !102
  %arrayidx108 = getelementptr inbounds nuw i8, ptr %arrayidx79, i64 12, !dbg !103
  store float %add104, ptr %arrayidx108, align 4, !dbg !104, !tbaa !78
  ret void, !dbg !105
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctlz.i32(i32, i1 immarg) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.cttz.i32(i32, i1 immarg) #1

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.bitreverse.i32(i32) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.sqrt.rn.f(float) #3

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.rint.f32(float) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.nvvm.saturate.f(float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.nvvm.fma.rm.f(float, float, float) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(none)
declare float @llvm.nvvm.ex2.approx.ftz.f32(float) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.smin.i32(i32, i32) #4

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.abs.i32(i32, i1 immarg) #5

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.maxnum.f32(float, float) #4

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare float @llvm.fma.f32(float, float, float) #4

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.umax.i32(i32, i32) #4

attributes #0 = { convergent noinline norecurse nounwind memory(argmem: readwrite) "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { mustprogress nocallback nofree nosync nounwind willreturn memory(none) }
attributes #4 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #5 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #6 = { convergent nounwind memory(none) }

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
!10 = distinct !DISubprogram(name: "numbers", scope: !11, file: !11, line: 2, type: !12, scopeLine: 4, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DIFile(filename: "numbers.cu", directory: "")
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 5, column: 22, scope: !10)
!15 = !DILocation(line: 6, column: 21, scope: !10)
!16 = !{!8, !8, i64 0}
!17 = !DILocation(line: 7, column: 24, scope: !10)
!18 = !{!19, !19, i64 0}
!19 = !{!"short", !8, i64 0}
!20 = !DILocation(line: 8, column: 23, scope: !10)
!21 = !DILocation(line: 8, column: 40, scope: !10)
!22 = !DILocation(line: 8, column: 25, scope: !10)
!23 = !DILocation(line: 9, column: 46, scope: !10)
!24 = !DILocation(line: 10, column: 33, scope: !10)
!25 = !DILocation(line: 10, column: 42, scope: !10)
!26 = !DILocation(line: 10, column: 37, scope: !10)
!27 = !DILocation(line: 10, column: 35, scope: !10)
!28 = !DILocation(line: 11, column: 18, scope: !10)
!29 = !DILocation(line: 11, column: 11, scope: !10)
!30 = !DILocation(line: 11, column: 5, scope: !10)
!31 = !DILocation(line: 11, column: 16, scope: !10)
!32 = !{!33, !33, i64 0}
!33 = !{!"long long", !8, i64 0}
!34 = !DILocation(line: 12, column: 30, scope: !10)
!35 = !DILocation(line: 12, column: 22, scope: !10)
!36 = !DILocation(line: 12, column: 5, scope: !10)
!37 = !DILocation(line: 12, column: 20, scope: !10)
!38 = !DILocation(line: 13, column: 33, scope: !10)
!39 = !DILocation(line: 13, column: 27, scope: !10)
!40 = !DILocation(line: 13, column: 5, scope: !10)
!41 = !DILocation(line: 13, column: 20, scope: !10)
!42 = !DILocation(line: 14, column: 59, scope: !10)
!43 = !DILocation(line: 14, column: 5, scope: !10)
!44 = !DILocation(line: 14, column: 20, scope: !10)
!45 = !DILocation(line: 15, column: 22, scope: !10)
!46 = !DILocation(line: 15, column: 35, scope: !10)
!47 = !DILocation(line: 15, column: 44, scope: !10)
!48 = !DILocation(line: 15, column: 32, scope: !10)
!49 = !DILocation(line: 15, column: 53, scope: !10)
!50 = !DILocation(line: 15, column: 62, scope: !10)
!51 = !DILocation(line: 15, column: 50, scope: !10)
!52 = !DILocation(line: 15, column: 5, scope: !10)
!53 = !DILocation(line: 15, column: 20, scope: !10)
!54 = !DILocation(line: 16, column: 22, scope: !10)
!55 = !DILocation(line: 16, column: 34, scope: !10)
!56 = !DILocation(line: 16, column: 32, scope: !10)
!57 = !DILocation(line: 16, column: 51, scope: !10)
!58 = !DILocation(line: 16, column: 49, scope: !10)
!59 = !DILocation(line: 16, column: 5, scope: !10)
!60 = !DILocation(line: 16, column: 20, scope: !10)
!61 = !DILocation(line: 17, column: 33, scope: !10)
!62 = !{i64 28065}
!63 = !DILocation(line: 17, column: 5, scope: !10)
!64 = !DILocation(line: 17, column: 20, scope: !10)
!65 = !DILocation(line: 18, column: 22, scope: !10)
!66 = !DILocation(line: 18, column: 34, scope: !10)
!67 = !{i64 2147592656}
!68 = !DILocation(line: 18, column: 32, scope: !10)
!69 = !DILocation(line: 18, column: 5, scope: !10)
!70 = !DILocation(line: 18, column: 20, scope: !10)
!71 = !DILocation(line: 19, column: 15, scope: !10)
!72 = !DILocation(line: 19, column: 22, scope: !10)
!73 = !DILocation(line: 20, column: 23, scope: !10)
!74 = !DILocation(line: 20, column: 27, scope: !10)
!75 = !DILocation(line: 20, column: 14, scope: !10)
!76 = !DILocation(line: 20, column: 5, scope: !10)
!77 = !DILocation(line: 20, column: 19, scope: !10)
!78 = !{!79, !79, i64 0}
!79 = !{!"float", !8, i64 0}
!80 = !DILocation(line: 21, column: 27, scope: !10)
!81 = !DILocation(line: 21, column: 35, scope: !10)
!82 = !DILocation(line: 21, column: 31, scope: !10)
!83 = !DILocation(line: 21, column: 5, scope: !10)
!84 = !DILocation(line: 21, column: 23, scope: !10)
!85 = !DILocation(line: 22, column: 67, scope: !10)
!86 = !DILocation(line: 22, column: 65, scope: !10)
!87 = !DILocation(line: 22, column: 73, scope: !10)
!88 = !DILocation(line: 22, column: 80, scope: !10)
!89 = !DILocation(line: 22, column: 54, scope: !10)
!90 = !DILocation(line: 22, column: 46, scope: !10)
!91 = !DILocation(line: 22, column: 31, scope: !10)
!92 = !DILocation(line: 22, column: 25, scope: !10)
!93 = !DILocation(line: 22, column: 44, scope: !10)
!94 = !DILocation(line: 22, column: 62, scope: !10)
!95 = !DILocation(line: 22, column: 5, scope: !10)
!96 = !DILocation(line: 22, column: 23, scope: !10)
!97 = !DILocation(line: 23, column: 32, scope: !10)
!98 = !DILocation(line: 23, column: 25, scope: !10)
!99 = !DILocation(line: 23, column: 58, scope: !10)
!100 = !DILocation(line: 23, column: 55, scope: !10)
!101 = !DILocation(line: 23, column: 50, scope: !10)
!102 = !DILocation(line: 23, column: 41, scope: !10)
!103 = !DILocation(line: 23, column: 5, scope: !10)
!104 = !DILocation(line: 23, column: 23, scope: !10)
!105 = !DILocation(line: 24, column: 1, scope: !10)
