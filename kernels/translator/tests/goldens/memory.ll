; ModuleID = 'memory.cu'
source_filename = "memory.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.float4 = type { float, float, float, float }
%struct.Plan = type { ptr, [4 x i8], [3 x float] }

@table = addrspace(4) externally_initialized constant [4 x float] [float 5.000000e-01, float 1.000000e+00, float 2.000000e+00, float 4.000000e+00], align 4
@visits = addrspace(1) externally_initialized global i32 0, align 4
@_ZZ6memoryE4tile = internal unnamed_addr addrspace(3) global [32 x %struct.float4] undef, align 16
@rest = external local_unnamed_addr addrspace(3) global [0 x float], align 4
@llvm.compiler.used = appending global [2 x ptr] [ptr addrspacecast (ptr addrspace(4) @table to ptr), ptr addrspacecast (ptr addrspace(1) @visits to ptr)], section "llvm.metadata"

; Function Attrs: convergent noinline norecurse nounwind
define dso_local ptx_kernel void @memory(ptr noundef writeonly captures(none) %out, ptr noundef readonly byval(%struct.Plan) align 8 captures(none) %plan, ptr noalias noundef readonly captures(none) %in, i1 noundef zeroext %mirrored, double noundef %scale) local_unnamed_addr #0 !dbg !10 {
entry:
  %mixed = alloca [4 x float], align 4
  %0 = tail call noundef i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !14
  %sub = sub nsw i32 31, %0, !dbg !15
  %cond = select i1 %mirrored, i32 %sub, i32 %0, !dbg !15
  %idxprom = zext i32 %cond to i64, !dbg !16
  %arrayidx = getelementptr inbounds nuw %struct.float4, ptr %in, i64 %idxprom, !dbg !16
  %idxprom1 = zext nneg i32 %0 to i64, !dbg !17
  %arrayidx2 = getelementptr inbounds nuw %struct.float4, ptr addrspacecast (ptr addrspace(3) @_ZZ6memoryE4tile to ptr), i64 %idxprom1, !dbg !17
  %1 = load <4 x float>, ptr %arrayidx, align 16, !dbg !18, !tbaa !19
  store <4 x float> %1, ptr %arrayidx2, align 16, !dbg !18, !tbaa !19
  %2 = load ptr, ptr %plan, align 8, !dbg !20, !tbaa !21
  %arrayidx5 = getelementptr inbounds nuw float, ptr %2, i64 %idxprom1, !dbg !25
  %3 = load float, ptr %arrayidx5, align 4, !dbg !25, !tbaa !26
  %arrayidx7 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @rest to ptr), i64 %idxprom1, !dbg !28
  store float %3, ptr %arrayidx7, align 4, !dbg !29, !tbaa !26
  tail call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !30
  %rem = and i32 %0, 1, !dbg !31
  %cmp = icmp eq i32 %rem, 0, !dbg !32
  %arrayidx13 = getelementptr inbounds nuw %struct.float4, ptr %in, i64 %idxprom1, !dbg !33
  %cond16 = select i1 %cmp, ptr %arrayidx2, ptr %arrayidx13, !dbg !33
  %incdec.ptr = getelementptr inbounds nuw i8, ptr %cond16, i64 4, !dbg !34
  %4 = load float, ptr %cond16, align 4, !dbg !35, !tbaa !26
  %5 = load float, ptr addrspacecast (ptr addrspace(4) @table to ptr), align 4, !dbg !36, !tbaa !26
  %incdec.ptr.1 = getelementptr inbounds nuw i8, ptr %cond16, i64 8, !dbg !34
  %6 = load float, ptr %incdec.ptr, align 4, !dbg !35, !tbaa !26
  %7 = load float, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 4), align 4, !dbg !36, !tbaa !26
  %incdec.ptr.2 = getelementptr inbounds nuw i8, ptr %cond16, i64 12, !dbg !34
  %8 = load float, ptr %incdec.ptr.1, align 4, !dbg !35, !tbaa !26
  %9 = load float, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 8), align 4, !dbg !36, !tbaa !26
  %10 = load float, ptr %incdec.ptr.2, align 4, !dbg !35, !tbaa !26
  %11 = load float, ptr getelementptr inbounds nuw (i8, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 12), align 4, !dbg !36, !tbaa !26
  call void @llvm.lifetime.start.p0(ptr nonnull %mixed) #4, !dbg !37
  %factors = getelementptr inbounds nuw i8, ptr %plan, i64 12
  %order = getelementptr inbounds nuw i8, ptr %plan, i64 8
  %and = and i32 %0, 31, !dbg !38
  %idxprom26 = zext nneg i32 %and to i64, !dbg !39
  %arrayidx27 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @rest to ptr), i64 %idxprom26, !dbg !39
  %12 = load float, ptr %arrayidx27, align 4, !dbg !39, !tbaa !26
  %13 = load float, ptr %factors, align 4, !dbg !40, !tbaa !26
  %mul31 = fmul contract float %12, %13, !dbg !41
  %14 = load i8, ptr %order, align 8, !dbg !42, !tbaa !19
  %15 = and i8 %14, 3, !dbg !43
  %idxprom35 = zext nneg i8 %15 to i64, !dbg !44
  %arrayidx36 = getelementptr inbounds nuw float, ptr %mixed, i64 %idxprom35, !dbg !44
  store float %mul31, ptr %arrayidx36, align 4, !dbg !45, !tbaa !26
  %add25.1 = add nuw nsw i32 %0, 1, !dbg !46
  %and.1 = and i32 %add25.1, 31, !dbg !38
  %idxprom26.1 = zext nneg i32 %and.1 to i64, !dbg !39
  %arrayidx27.1 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @rest to ptr), i64 %idxprom26.1, !dbg !39
  %16 = load float, ptr %arrayidx27.1, align 4, !dbg !39, !tbaa !26
  %arrayidx30.1 = getelementptr inbounds nuw i8, ptr %plan, i64 16, !dbg !40
  %17 = load float, ptr %arrayidx30.1, align 8, !dbg !40, !tbaa !26
  %mul31.1 = fmul contract float %16, %17, !dbg !41
  %arrayidx33.1 = getelementptr inbounds nuw i8, ptr %plan, i64 9, !dbg !42
  %18 = load i8, ptr %arrayidx33.1, align 1, !dbg !42, !tbaa !19
  %19 = and i8 %18, 3, !dbg !43
  %idxprom35.1 = zext nneg i8 %19 to i64, !dbg !44
  %arrayidx36.1 = getelementptr inbounds nuw float, ptr %mixed, i64 %idxprom35.1, !dbg !44
  store float %mul31.1, ptr %arrayidx36.1, align 4, !dbg !45, !tbaa !26
  %add25.2 = add nuw nsw i32 %0, 2, !dbg !46
  %and.2 = and i32 %add25.2, 31, !dbg !38
  %idxprom26.2 = zext nneg i32 %and.2 to i64, !dbg !39
  %arrayidx27.2 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @rest to ptr), i64 %idxprom26.2, !dbg !39
  %20 = load float, ptr %arrayidx27.2, align 4, !dbg !39, !tbaa !26
  %arrayidx30.2 = getelementptr inbounds nuw i8, ptr %plan, i64 20, !dbg !40
  %21 = load float, ptr %arrayidx30.2, align 4, !dbg !40, !tbaa !26
  %mul31.2 = fmul contract float %20, %21, !dbg !41
  %arrayidx33.2 = getelementptr inbounds nuw i8, ptr %plan, i64 10, !dbg !42
  %22 = load i8, ptr %arrayidx33.2, align 2, !dbg !42, !tbaa !19
  %23 = and i8 %22, 3, !dbg !43
  %idxprom35.2 = zext nneg i8 %23 to i64, !dbg !44
  %arrayidx36.2 = getelementptr inbounds nuw float, ptr %mixed, i64 %idxprom35.2, !dbg !44
  store float %mul31.2, ptr %arrayidx36.2, align 4, !dbg !45, !tbaa !26
  %add25.3 = add nuw nsw i32 %0, 3, !dbg !46
  %and.3 = and i32 %add25.3, 31, !dbg !38
  %idxprom26.3 = zext nneg i32 %and.3 to i64, !dbg !39
  %arrayidx27.3 = getelementptr inbounds nuw float, ptr addrspacecast (ptr addrspace(3) @rest to ptr), i64 %idxprom26.3, !dbg !39
  %24 = load float, ptr %arrayidx27.3, align 4, !dbg !39, !tbaa !26
  %mul31.3 = fmul contract float %24, %13, !dbg !41
  %arrayidx33.3 = getelementptr inbounds nuw i8, ptr %plan, i64 11, !dbg !42
  %25 = load i8, ptr %arrayidx33.3, align 1, !dbg !42, !tbaa !19
  %26 = and i8 %25, 3, !dbg !43
  %idxprom35.3 = zext nneg i8 %26 to i64, !dbg !44
  %arrayidx36.3 = getelementptr inbounds nuw float, ptr %mixed, i64 %idxprom35.3, !dbg !44
  store float %mul31.3, ptr %arrayidx36.3, align 4, !dbg !45, !tbaa !26
  %mul = fmul contract float %4, %5, !dbg !47
  %add = fadd contract float %mul, 0.000000e+00, !dbg !48
  %mul.1 = fmul contract float %6, %7, !dbg !47
  %add.1 = fadd contract float %add, %mul.1, !dbg !48
  %mul.2 = fmul contract float %8, %9, !dbg !47
  %add.2 = fadd contract float %add.1, %mul.2, !dbg !48
  %mul.3 = fmul contract float %10, %11, !dbg !47
  %add.3 = fadd contract float %add.2, %mul.3, !dbg !48
  %xor = xor i32 %0, 1, !dbg !49
  %idxprom40 = zext nneg i32 %xor to i64, !dbg !50
  %arrayidx41 = getelementptr inbounds nuw %struct.float4, ptr addrspacecast (ptr addrspace(3) @_ZZ6memoryE4tile to ptr), i64 %idxprom40, !dbg !50
  %27 = load <4 x float>, ptr %arrayidx41, align 16, !dbg !50, !tbaa !19
  %v.sroa.0.0.vec.insert = insertelement <4 x float> %27, float %add.3, i64 0, !dbg !51
  %and43 = and i32 %0, 3, !dbg !52
  %idxprom44 = zext nneg i32 %and43 to i64, !dbg !53
  %arrayidx45 = getelementptr inbounds nuw float, ptr %mixed, i64 %idxprom44, !dbg !53
  %28 = load float, ptr %arrayidx45, align 4, !dbg !53, !tbaa !26
  %v.sroa.0.4.vec.insert = insertelement <4 x float> %v.sroa.0.0.vec.insert, float %28, i64 1, !dbg !54
  %v.sroa.0.8.vec.extract = extractelement <4 x float> %27, i64 2, !dbg !55
  %conv46 = fpext contract float %v.sroa.0.8.vec.extract to double, !dbg !56
  %mul47 = fmul contract double %scale, %conv46, !dbg !57
  %conv48 = fptrunc contract double %mul47 to float, !dbg !58
  %v.sroa.0.8.vec.insert = insertelement <4 x float> %v.sroa.0.4.vec.insert, float %conv48, i64 2, !dbg !59
  %arrayidx51 = getelementptr inbounds nuw %struct.float4, ptr %out, i64 %idxprom1, !dbg !60
  store <4 x float> %v.sroa.0.8.vec.insert, ptr %arrayidx51, align 16, !dbg !61, !tbaa !19
  %cmp54.not = icmp eq ptr %2, null, !dbg !62
  br i1 %cmp54.not, label %if.end, label %if.then, !dbg !62

if.then:                                          ; preds = %entry
  %29 = atomicrmw add ptr addrspacecast (ptr addrspace(1) @visits to ptr), i32 1 monotonic, align 4, !dbg !63
  br label %if.end, !dbg !63

if.end:                                           ; preds = %if.then, %entry
  call void @llvm.lifetime.end.p0(ptr nonnull %mixed) #4, !dbg !64
  ret void, !dbg !64
}

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.start.p0(ptr captures(none)) #1

; Function Attrs: convergent nocallback nounwind
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2

; Function Attrs: mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite)
declare void @llvm.lifetime.end.p0(ptr captures(none)) #1

; Function Attrs: mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare noundef range(i32 0, 1024) i32 @llvm.nvvm.read.ptx.sreg.tid.x() #3

attributes #0 = { convergent noinline norecurse nounwind "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="sm_75" "target-features"="+ptx75,+sm_75" "uniform-work-group-size"="true" }
attributes #1 = { mustprogress nocallback nofree nosync nounwind willreturn memory(argmem: readwrite) }
attributes #2 = { convergent nocallback nounwind }
attributes #3 = { mustprogress nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nounwind }

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
!10 = distinct !DISubprogram(name: "memory", scope: !11, file: !11, line: 10, type: !12, scopeLine: 12, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !0)
!11 = !DIFile(filename: "memory.cu", directory: "")
!12 = !DISubroutineType(types: !13)
!13 = !{}
!14 = !DILocation(line: 15, column: 22, scope: !10)
!15 = !DILocation(line: 16, column: 18, scope: !10)
!16 = !DILocation(line: 16, column: 15, scope: !10)
!17 = !DILocation(line: 16, column: 5, scope: !10)
!18 = !DILocation(line: 16, column: 13, scope: !10)
!19 = !{!8, !8, i64 0}
!20 = !DILocation(line: 17, column: 20, scope: !10)
!21 = !{!22, !23, i64 0}
!22 = !{!"_ZTS4Plan", !23, i64 0, !8, i64 8, !8, i64 12}
!23 = !{!"p1 float", !24, i64 0}
!24 = !{!"any pointer", !8, i64 0}
!25 = !DILocation(line: 17, column: 15, scope: !10)
!26 = !{!27, !27, i64 0}
!27 = !{!"float", !8, i64 0}
!28 = !DILocation(line: 17, column: 5, scope: !10)
!29 = !DILocation(line: 17, column: 13, scope: !10)
!30 = !DILocation(line: 18, column: 5, scope: !10)
!31 = !DILocation(line: 19, column: 27, scope: !10)
!32 = !DILocation(line: 19, column: 31, scope: !10)
!33 = !DILocation(line: 19, column: 25, scope: !10)
!34 = !DILocation(line: 22, column: 21, scope: !10)
!35 = !DILocation(line: 22, column: 16, scope: !10)
!36 = !DILocation(line: 22, column: 26, scope: !10)
!37 = !DILocation(line: 23, column: 5, scope: !10)
!38 = !DILocation(line: 25, column: 49, scope: !10)
!39 = !DILocation(line: 25, column: 36, scope: !10)
!40 = !DILocation(line: 25, column: 57, scope: !10)
!41 = !DILocation(line: 25, column: 55, scope: !10)
!42 = !DILocation(line: 25, column: 15, scope: !10)
!43 = !DILocation(line: 25, column: 29, scope: !10)
!44 = !DILocation(line: 25, column: 9, scope: !10)
!45 = !DILocation(line: 25, column: 34, scope: !10)
!46 = !DILocation(line: 25, column: 44, scope: !10)
!47 = !DILocation(line: 22, column: 24, scope: !10)
!48 = !DILocation(line: 22, column: 13, scope: !10)
!49 = !DILocation(line: 26, column: 23, scope: !10)
!50 = !DILocation(line: 26, column: 16, scope: !10)
!51 = !DILocation(line: 27, column: 9, scope: !10)
!52 = !DILocation(line: 28, column: 19, scope: !10)
!53 = !DILocation(line: 28, column: 11, scope: !10)
!54 = !DILocation(line: 28, column: 9, scope: !10)
!55 = !DILocation(line: 29, column: 21, scope: !10)
!56 = !DILocation(line: 29, column: 19, scope: !10)
!57 = !DILocation(line: 29, column: 23, scope: !10)
!58 = !DILocation(line: 29, column: 18, scope: !10)
!59 = !DILocation(line: 29, column: 9, scope: !10)
!60 = !DILocation(line: 30, column: 5, scope: !10)
!61 = !DILocation(line: 30, column: 12, scope: !10)
!62 = !DILocation(line: 31, column: 19, scope: !10)
!63 = !DILocation(line: 32, column: 9, scope: !10)
!64 = !DILocation(line: 33, column: 1, scope: !10)
