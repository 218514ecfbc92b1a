; ModuleID = 'bits.cu'
source_filename = "bits.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

; Function Attrs: mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite)
define dso_local ptx_kernel void @bits(ptr noundef readonly captures(none) %bytes, ptr noundef readonly captures(none) %shorts, ptr noundef writeonly captures(none) %out) local_unnamed_addr #0 !dbg !10 {
entry:
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !14
  %idxprom = zext nneg i32 %0 to i64, !dbg !15
  %arrayidx = getelementptr inbounds nuw i8, ptr %bytes, i64 %idxprom, !dbg !15
  %1 = load i8, ptr %arrayidx, align 1, !dbg !15, !tbaa !16
  %sub = sub nsw i32 31, %0, !dbg !17
  %idxprom1 = sext i32 %sub to i64, !dbg !18
  %arrayidx2 = getelementptr inbounds i8, ptr %bytes, i64 %idxprom1, !dbg !18
  %2 = load i8, ptr %arrayidx2, align 1, !dbg !18, !tbaa !16
  %arrayidx4 = getelementptr inbounds nuw i16, ptr %shorts, i64 %idxprom, !dbg !19
  %3 = load i16, ptr %arrayidx4, align 2, !dbg !19, !tbaa !20
  %arrayidx7 = getelementptr inbounds i16, ptr %shorts, i64 %idxprom1, !dbg !22
  %4 = load i16, ptr %arrayidx7, align 2, !dbg !22, !tbaa !20
  %conv = zext i16 %3 to i32, !dbg !23
  %shl = shl nuw i32 %conv, 16, !dbg !24
  %conv8 = zext i16 %4 to i32, !dbg !25
  %or = or disjoint i32 %shl, %conv8, !dbg !26
  %conv9 = zext i32 %or to i64, !dbg !27
  %shl10 = shl nuw i64 %conv9, 32, !dbg !28
  %not = xor i32 %or, -1, !dbg !29
  %conv11 = zext i32 %not to i64, !dbg !29
  %or12 = or disjoint i64 %shl10, %conv11, !dbg !30
  %or16 = tail call i8 @llvm.fshl.i8(i8 %1, i8 %1, i8 3), !dbg !31
  %or22 = tail call i16 @llvm.fshl.i16(i16 %3, i16 %3, i16 5), !dbg !32
  %or28 = tail call i16 @llvm.bswap.i16(i16 %4), !dbg !33
  %rev = tail call i16 @llvm.bswap.i16(i16 %3), !dbg !34
  %or32 = zext i16 %rev to i32, !dbg !34
  %shl33 = shl nuw nsw i32 %conv8, 8, !dbg !35
  %and34 = and i32 %shl33, 16711680, !dbg !36
  %or35 = or disjoint i32 %and34, %or32, !dbg !37
  %shl36 = shl i32 %conv8, 24, !dbg !38
  %or37 = or disjoint i32 %or35, %shl36, !dbg !39
  %conv38 = zext i8 %or16 to i64, !dbg !40
  %mul = shl nuw nsw i32 %0, 3, !dbg !41
  %idxprom39 = zext nneg i32 %mul to i64, !dbg !42
  %arrayidx40 = getelementptr inbounds nuw i64, ptr %out, i64 %idxprom39, !dbg !42
  store i64 %conv38, ptr %arrayidx40, align 8, !dbg !43, !tbaa !44
  %conv41 = zext i16 %or22 to i64, !dbg !46
  %arrayidx44 = getelementptr i8, ptr %arrayidx40, i64 8, !dbg !47
  store i64 %conv41, ptr %arrayidx44, align 8, !dbg !48, !tbaa !44
  %conv45 = zext i16 %or28 to i64, !dbg !49
  %arrayidx49 = getelementptr i8, ptr %arrayidx40, i64 16, !dbg !50
  store i64 %conv45, ptr %arrayidx49, align 8, !dbg !51, !tbaa !44
  %conv50 = zext i32 %or37 to i64, !dbg !52
  %arrayidx54 = getelementptr i8, ptr %arrayidx40, i64 24, !dbg !53
  store i64 %conv50, ptr %arrayidx54, align 8, !dbg !54, !tbaa !44
  %5 = tail call i64 @llvm.bswap.i64(i64 %or12), !dbg !55
  %arrayidx58 = getelementptr i8, ptr %arrayidx40, i64 32, !dbg !56
  store i64 %5, ptr %arrayidx58, align 8, !dbg !57, !tbaa !44
  %6 = tail call range(i8 0, 9) i8 @llvm.ctpop.i8(i8 %1), !dbg !58
  %7 = zext nneg i8 %6 to i32, !dbg !58
  %conv61 = zext i8 %2 to i32, !dbg !59
  %8 = tail call noundef range(i32 16, 33) i32 @llvm.ctlz.i32(i32 range(i32 0, 65536) %conv61, i1 false), !dbg !60
  %shl63 = shl nuw nsw i32 %8, 8, !dbg !61
  %add64 = or disjoint i32 %shl63, %7, !dbg !62
  %9 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 range(i32 0, 65536) %conv61, i1 true), !dbg !63
  %iszero.i168 = icmp eq i8 %2, 0, !dbg !63
  %10 = shl nuw nsw i32 %9, 16, !dbg !64
  %11 = add nuw nsw i32 %10, 65536, !dbg !64
  %shl67 = select i1 %iszero.i168, i32 0, i32 %11, !dbg !63
  %add68 = or disjoint i32 %shl67, %add64, !dbg !65
  %conv69 = zext nneg i32 %add68 to i64, !dbg !58
  %arrayidx73 = getelementptr i8, ptr %arrayidx40, i64 40, !dbg !66
  store i64 %conv69, ptr %arrayidx73, align 8, !dbg !67, !tbaa !44
  %12 = tail call noundef range(i32 0, 17) i32 @llvm.ctpop.i32(i32 range(i32 0, 65536) %conv), !dbg !68
  %13 = tail call noundef range(i32 16, 33) i32 @llvm.ctlz.i32(i32 range(i32 0, 65536) %conv8, i1 false), !dbg !69
  %shl78 = shl nuw nsw i32 %13, 8, !dbg !70
  %add79 = or disjoint i32 %shl78, %12, !dbg !71
  %14 = tail call range(i32 0, 33) i32 @llvm.cttz.i32(i32 range(i32 0, 65536) %conv8, i1 true), !dbg !72
  %iszero.i = icmp eq i16 %4, 0, !dbg !72
  %15 = shl nuw nsw i32 %14, 16, !dbg !73
  %16 = add nuw nsw i32 %15, 65536, !dbg !73
  %shl82 = select i1 %iszero.i, i32 0, i32 %16, !dbg !72
  %add83 = or disjoint i32 %shl82, %add79, !dbg !74
  %conv84 = zext nneg i32 %add83 to i64, !dbg !68
  %arrayidx88 = getelementptr i8, ptr %arrayidx40, i64 48, !dbg !75
  store i64 %conv84, ptr %arrayidx88, align 8, !dbg !76, !tbaa !44
  %sub96 = tail call i32 @llvm.ucmp.i32.i8(i8 %1, i8 %2), !dbg !77
  %sub101 = tail call i32 @llvm.scmp.i32.i32(i32 %or, i32 7), !dbg !78
  %mul103 = mul nuw nsw i32 %conv, 99, !dbg !79
  %sub110 = tail call i32 @llvm.ucmp.i32.i32(i32 %or, i32 %mul103), !dbg !80
  %add112 = shl nsw i32 %sub101, 2, !dbg !81
  %add115 = shl nsw i32 %sub110, 4, !dbg !82
  %mul113 = add nsw i32 %sub96, 21, !dbg !83
  %mul116 = add nsw i32 %mul113, %add112, !dbg !84
  %add117 = add nsw i32 %mul116, %add115, !dbg !84
  %conv118 = zext nneg i32 %add117 to i64, !dbg !85
  %arrayidx122 = getelementptr i8, ptr %arrayidx40, i64 56, !dbg !86
  store i64 %conv118, ptr %arrayidx122, align 8, !dbg !87, !tbaa !44
  ret void, !dbg !88
}

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.bswap.i64(i64) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #2

; Function Attrs: mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctpop.i32(i32) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.ctlz.i32(i32, i1 immarg) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i32 @llvm.cttz.i32(i32, i1 immarg) #2

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i8 @llvm.fshl.i8(i8, i8, i8) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i16 @llvm.fshl.i16(i16, i16, i16) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i16 @llvm.bswap.i16(i16) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare range(i32 -1, 2) i32 @llvm.ucmp.i32.i8(i8, i8) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare range(i32 -1, 2) i32 @llvm.scmp.i32.i32(i32, i32) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare range(i32 -1, 2) i32 @llvm.ucmp.i32.i32(i32, i32) #3

; Function Attrs: nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none)
declare i8 @llvm.ctpop.i8(i8) #3

attributes #0 = { mustprogress nofree noinline norecurse nosync nounwind willreturn memory(argmem: readwrite) "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #3 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }

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
!10 = distinct !DISubprogram(name: "bits", scope: !11, file: !11, line: 2, type: !12, scopeLine: 4, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DIFile(filename: "bits.cu", directory: "")
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 5, column: 13, scope: !10)
!15 = !DILocation(line: 6, column: 23, scope: !10)
!16 = !{!8, !8, i64 0}
!17 = !DILocation(line: 6, column: 46, scope: !10)
!18 = !DILocation(line: 6, column: 37, scope: !10)
!19 = !DILocation(line: 7, column: 24, scope: !10)
!20 = !{!21, !21, i64 0}
!21 = !{!"short", !8, i64 0}
!22 = !DILocation(line: 7, column: 39, scope: !10)
!23 = !DILocation(line: 8, column: 18, scope: !10)
!24 = !DILocation(line: 8, column: 20, scope: !10)
!25 = !DILocation(line: 8, column: 28, scope: !10)
!26 = !DILocation(line: 8, column: 26, scope: !10)
!27 = !DILocation(line: 9, column: 48, scope: !10)
!28 = !DILocation(line: 9, column: 50, scope: !10)
!29 = !DILocation(line: 9, column: 58, scope: !10)
!30 = !DILocation(line: 9, column: 56, scope: !10)
!31 = !DILocation(line: 10, column: 35, scope: !10)
!32 = !DILocation(line: 11, column: 35, scope: !10)
!33 = !DILocation(line: 11, column: 63, scope: !10)
!34 = !DILocation(line: 12, column: 29, scope: !10)
!35 = !DILocation(line: 12, column: 54, scope: !10)
!36 = !DILocation(line: 12, column: 59, scope: !10)
!37 = !DILocation(line: 12, column: 49, scope: !10)
!38 = !DILocation(line: 12, column: 75, scope: !10)
!39 = !DILocation(line: 12, column: 71, scope: !10)
!40 = !DILocation(line: 13, column: 18, scope: !10)
!41 = !DILocation(line: 13, column: 11, scope: !10)
!42 = !DILocation(line: 13, column: 5, scope: !10)
!43 = !DILocation(line: 13, column: 16, scope: !10)
!44 = !{!45, !45, i64 0}
!45 = !{!"long long", !8, i64 0}
!46 = !DILocation(line: 14, column: 22, scope: !10)
!47 = !DILocation(line: 14, column: 5, scope: !10)
!48 = !DILocation(line: 14, column: 20, scope: !10)
!49 = !DILocation(line: 15, column: 22, scope: !10)
!50 = !DILocation(line: 15, column: 5, scope: !10)
!51 = !DILocation(line: 15, column: 20, scope: !10)
!52 = !DILocation(line: 16, column: 22, scope: !10)
!53 = !DILocation(line: 16, column: 5, scope: !10)
!54 = !DILocation(line: 16, column: 20, scope: !10)
!55 = !DILocation(line: 17, column: 22, scope: !10)
!56 = !DILocation(line: 17, column: 5, scope: !10)
!57 = !DILocation(line: 17, column: 20, scope: !10)
!58 = !DILocation(line: 18, column: 22, scope: !10)
!59 = !DILocation(line: 18, column: 41, scope: !10)
!60 = !DILocation(line: 18, column: 35, scope: !10)
!61 = !DILocation(line: 18, column: 44, scope: !10)
!62 = !DILocation(line: 18, column: 32, scope: !10)
!63 = !DILocation(line: 18, column: 53, scope: !10)
!64 = !DILocation(line: 18, column: 62, scope: !10)
!65 = !DILocation(line: 18, column: 50, scope: !10)
!66 = !DILocation(line: 18, column: 5, scope: !10)
!67 = !DILocation(line: 18, column: 20, scope: !10)
!68 = !DILocation(line: 19, column: 22, scope: !10)
!69 = !DILocation(line: 19, column: 35, scope: !10)
!70 = !DILocation(line: 19, column: 44, scope: !10)
!71 = !DILocation(line: 19, column: 32, scope: !10)
!72 = !DILocation(line: 19, column: 53, scope: !10)
!73 = !DILocation(line: 19, column: 62, scope: !10)
!74 = !DILocation(line: 19, column: 50, scope: !10)
!75 = !DILocation(line: 19, column: 5, scope: !10)
!76 = !DILocation(line: 19, column: 20, scope: !10)
!77 = !DILocation(line: 20, column: 25, scope: !10)
!78 = !DILocation(line: 20, column: 55, scope: !10)
!79 = !DILocation(line: 21, column: 25, scope: !10)
!80 = !DILocation(line: 21, column: 30, scope: !10)
!81 = !DILocation(line: 22, column: 46, scope: !10)
!82 = !DILocation(line: 22, column: 63, scope: !10)
!83 = !DILocation(line: 22, column: 34, scope: !10)
!84 = !DILocation(line: 22, column: 50, scope: !10)
!85 = !DILocation(line: 22, column: 22, scope: !10)
!86 = !DILocation(line: 22, column: 5, scope: !10)
!87 = !DILocation(line: 22, column: 20, scope: !10)
!88 = !DILocation(line: 23, column: 1, scope: !10)
