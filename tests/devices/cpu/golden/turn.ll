define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".183" = alloca i32
  %".181" = alloca i32
  %".179" = alloca i32
  %".177" = alloca i32
  %".91" = alloca i64
  %".90" = alloca i64
  %".89" = alloca i32
  %".88" = alloca i32
  %".87" = alloca i32
  %".86" = alloca i32
  %".85" = alloca i32
  %".84" = alloca i64
  %".66" = alloca i32
  %".64" = alloca i32
  %".62" = alloca i32
  %".60" = alloca i32
  %".57" = alloca i32
  %".34" = alloca i32
  %".31" = alloca i32
  %".28" = alloca i32
  %".15" = alloca i64
  %".12" = alloca [48 x i8]
  %".9" = alloca i32
  %".8" = alloca i32
  %".7" = alloca i32
  %".6" = alloca i32
  %".5" = alloca i32
  %".4" = alloca i32
  br label %"entry"
entry:
  %".10" = getelementptr i8, ptr %".1", i64 64
  %".11" = load ptr, ptr %".10", align 8
  %".13" = getelementptr i8, ptr %".1", i64 136
  %".14" = load i64, ptr %".13", align 8
  %".17" = getelementptr i8, ptr %".1", i64 88
  %".18" = load i32, ptr %".17", align 8, !range !0
  %".20" = getelementptr i8, ptr %".1", i64 96
  %".21" = load i32, ptr %".20", align 8, !range !0
  %".38" = getelementptr i8, ptr %".1", i64 144
  %".39" = load i64, ptr %".38", align 8
  %".45" = getelementptr i8, ptr %".1", i64 48
  %".46" = load ptr, ptr %".45", align 8
  %".49" = getelementptr i8, ptr %".1", i64 112
  %".50" = load i32, ptr %".49", align 8, !range !1
  %".51" = getelementptr i8, ptr %".1", i64 120
  %".52" = load i32, ptr %".51", align 8, !range !1
  %".53" = getelementptr i8, ptr %".1", i64 128
  %".54" = load i32, ptr %".53", align 8, !range !1
  %".55" = mul i32 %".52", %".54"
  %".56" = mul i32 %".50", %".55"
  %".101" = load ptr, ptr %".1", align 8
  %".102" = load i64, ptr %".101", align 8
  %".118" = getelementptr i8, ptr %".46", i64 1024
  %".202" = getelementptr i8, ptr %".1", i64 80
  %".203" = load ptr, ptr %".202", align 8
  %".217" = load i64, ptr %".101", align 8
  %".223" = getelementptr i8, ptr %".46", i64 1024
  %".249" = load i64, ptr %".101", align 1
  %".250" = lshr i64 %".249", 40
  %".251" = getelementptr i8, ptr %".1", i64 24
  %".252" = load i64, ptr %".251", align 8
  %".253" = icmp ult i64 %".250", %".252"
  %".254" = select  i1 %".253", i64 %".250", i64 0
  %".255" = getelementptr i8, ptr %".1", i64 16
  %".256" = load ptr, ptr %".255", align 8
  %".257" = shl i64 %".254", 5
  %".258" = getelementptr i8, ptr %".256", i64 %".257"
  %".259" = load ptr, ptr %".258"
  %".260" = getelementptr i8, ptr %".258", i64 8
  %".261" = load i64, ptr %".260"
  %".262" = getelementptr i8, ptr %".258", i64 16
  %".263" = load i64, ptr %".262"
  %".266" = lshr i64 %".261", 2
  br label %"first_block"
first_block:
  store i64 %".14", ptr %".15"
  %".19" = zext i32 %".18" to i64
  %".22" = zext i32 %".21" to i64
  %".23" = udiv i64 %".14", %".19"
  %".24" = urem i64 %".14", %".19"
  %".25" = urem i64 %".23", %".22"
  %".26" = udiv i64 %".23", %".22"
  %".27" = trunc i64 %".24" to i32
  store i32 %".27", ptr %".28"
  %".30" = trunc i64 %".25" to i32
  store i32 %".30", ptr %".31"
  %".33" = trunc i64 %".26" to i32
  store i32 %".33", ptr %".34"
  br label %"block"
block:
  %".37" = load i64, ptr %".15"
  %".40" = icmp ult i64 %".37", %".39"
  br i1 %".40", label %"block_body", label %"end"
block_body:
  %".42" = load i32, ptr %".28"
  %".43" = load i32, ptr %".31"
  %".44" = load i32, ptr %".34"
  %".47" = getelementptr i8, ptr %".46", i64 1024
  call void @"llvm.memset.p0.i64"(ptr %".47", i8 255, i64 128, i1 0)
  store i32 0, ptr %".57"
  br label %"region1"
end:
  ret i32 0
next_block:
  %".294" = load i64, ptr %".15"
  %".295" = add i64 %".294", 1
  store i64 %".295", ptr %".15"
  %".297" = load i32, ptr %".28"
  %".298" = add i32 %".297", 1
  store i32 %".298", ptr %".28"
  %".300" = icmp eq i32 %".298", %".18"
  br i1 %".300", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".60"
  store i32 0, ptr %".62"
  store i32 0, ptr %".64"
  store i32 0, ptr %".66"
  store i32 0, ptr %".66"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".64"
  br label %"tid_y"
tid_y:
  store i32 0, ptr %".62"
  br label %"tid_x"
tid_x:
  %".74" = load i32, ptr %".60"
  %".75" = load i32, ptr %".62"
  %".76" = load i32, ptr %".64"
  %".77" = load i32, ptr %".66"
  store i32 %".75", ptr %".4"
  store i32 %".76", ptr %".5"
  store i32 %".77", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i64 0, ptr %".84"
  store i32 0, ptr %".85"
  store i32 0, ptr %".86"
  store i32 0, ptr %".87"
  store i32 0, ptr %".88"
  store i32 0, ptr %".89"
  store i64 0, ptr %".90"
  store i64 0, ptr %".91"
  br label %"b0"
next_thread:
  %".162" = add i32 %".74", 1
  store i32 %".162", ptr %".60"
  %".164" = add i32 %".75", 1
  store i32 %".164", ptr %".62"
  %".166" = icmp ult i32 %".164", %".50"
  br i1 %".166", label %"tid_x", label %"tid_x_done"
b0:
  store i64 %".102", ptr %".84"
  store i32 %".75", ptr %".85"
  %".105" = load i32, ptr %".85"
  %".106" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".107" = shl i32 %".105", %".106"
  %".108" = icmp ult i32 2, 32
  %".109" = select  i1 %".108", i32 %".107", i32 0
  store i32 %".109", ptr %".86"
  %".111" = trunc i64 1024 to i32
  store i32 %".111", ptr %".87"
  %".113" = load i32, ptr %".87"
  %".114" = load i32, ptr %".86"
  %".115" = add i32 %".113", %".114"
  store i32 %".115", ptr %".88"
  %".117" = load i32, ptr %".88"
  %".119" = sub i32 %".117", 1024
  %".120" = call i32 @"llvm.fshr.i32"(i32 %".119", i32 %".119", i32 2)
  %".121" = icmp ult i32 %".120", 32
  br i1 %".121", label %"fast", label %"slow", !prof !2
fast:
  %".123" = zext i32 %".119" to i64
  %".124" = getelementptr i8, ptr %".118", i64 %".123"
  br label %"after"
slow:
  %".126" = zext i32 %".117" to i64
  %".127" = add i64 %".126", 1099511627776
  %".128" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".127", i64 4, i64 0)
  %".129" = icmp eq ptr %".128", null
  br i1 %".129", label %"fault", label %"after", !prof !3
after:
  %".156" = phi  ptr [%".124", %"fast"], [%".128", %"slow"]
  %".157" = load i32, ptr %".85"
  store i32 %".157", ptr %".156", align 4
  store i32 2, ptr %".57"
  br label %"next_thread"
fault:
  %".130" = load i32, ptr %".4"
  %".131" = zext i32 %".130" to i64
  %".132" = getelementptr i8, ptr %".1", i64 192
  store i64 %".131", ptr %".132", align 8
  %".134" = load i32, ptr %".5"
  %".135" = zext i32 %".134" to i64
  %".136" = getelementptr i8, ptr %".1", i64 200
  store i64 %".135", ptr %".136", align 8
  %".138" = load i32, ptr %".6"
  %".139" = zext i32 %".138" to i64
  %".140" = getelementptr i8, ptr %".1", i64 208
  store i64 %".139", ptr %".140", align 8
  %".142" = load i32, ptr %".7"
  %".143" = zext i32 %".142" to i64
  %".144" = getelementptr i8, ptr %".1", i64 216
  store i64 %".143", ptr %".144", align 8
  %".146" = load i32, ptr %".8"
  %".147" = zext i32 %".146" to i64
  %".148" = getelementptr i8, ptr %".1", i64 224
  store i64 %".147", ptr %".148", align 8
  %".150" = load i32, ptr %".9"
  %".151" = zext i32 %".150" to i64
  %".152" = getelementptr i8, ptr %".1", i64 232
  store i64 %".151", ptr %".152", align 8
  ret i32 1
region2:
  store i32 0, ptr %".177"
  store i32 0, ptr %".179"
  store i32 0, ptr %".181"
  store i32 0, ptr %".183"
  store i32 0, ptr %".183"
  br label %"tid_z.1"
never:
  unreachable
tid_x_done:
  %".168" = add i32 %".76", 1
  store i32 %".168", ptr %".64"
  %".170" = icmp ult i32 %".168", %".52"
  br i1 %".170", label %"tid_y", label %"tid_y_done"
tid_y_done:
  %".172" = add i32 %".77", 1
  store i32 %".172", ptr %".66"
  %".174" = icmp ult i32 %".172", %".54"
  br i1 %".174", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".181"
  br label %"tid_y.1"
tid_y.1:
  store i32 0, ptr %".179"
  br label %"tid_x.1"
tid_x.1:
  %".191" = load i32, ptr %".177"
  %".192" = load i32, ptr %".179"
  %".193" = load i32, ptr %".181"
  %".194" = load i32, ptr %".183"
  store i32 %".192", ptr %".4"
  store i32 %".193", ptr %".5"
  store i32 %".194", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 %".192", ptr %".85"
  %".205" = trunc i64 1024 to i32
  store i32 %".205", ptr %".87"
  %".207" = load i32, ptr %".85"
  %".208" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".209" = shl i32 %".207", %".208"
  %".210" = icmp ult i32 2, 32
  %".211" = select  i1 %".210", i32 %".209", i32 0
  store i32 %".211", ptr %".86"
  %".213" = load i32, ptr %".87"
  %".214" = load i32, ptr %".86"
  %".215" = add i32 %".213", %".214"
  store i32 %".215", ptr %".88"
  store i64 %".217", ptr %".84"
  %".219" = load i32, ptr %".85"
  %".220" = sub i32 31, %".219"
  store i32 %".220", ptr %".89"
  %".222" = load i32, ptr %".88"
  %".224" = sub i32 %".222", 1024
  %".225" = call i32 @"llvm.fshr.i32"(i32 %".224", i32 %".224", i32 2)
  %".226" = icmp ult i32 %".225", 32
  br i1 %".226", label %"fast.1", label %"slow.1", !prof !2
next_thread.1:
  %".279" = add i32 %".191", 1
  store i32 %".279", ptr %".177"
  %".281" = add i32 %".192", 1
  store i32 %".281", ptr %".179"
  %".283" = icmp ult i32 %".281", %".50"
  br i1 %".283", label %"tid_x.1", label %"tid_x_done.1"
before:
  unreachable
fast.1:
  %".228" = zext i32 %".224" to i64
  %".229" = getelementptr i8, ptr %".223", i64 %".228"
  br label %"after.1"
slow.1:
  %".231" = zext i32 %".222" to i64
  %".232" = add i64 %".231", 1099511627776
  %".233" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".232", i64 4, i64 1)
  %".234" = icmp eq ptr %".233", null
  br i1 %".234", label %"fault", label %"after.1", !prof !3
after.1:
  %".236" = phi  ptr [%".229", %"fast.1"], [%".233", %"slow.1"]
  %".237" = load i32, ptr %".236", align 4
  store i32 %".237", ptr %".89"
  %".239" = load i32, ptr %".85"
  %".240" = zext i32 %".239" to i64
  %".241" = zext i32 4 to i64
  %".242" = mul i64 %".240", %".241"
  store i64 %".242", ptr %".90"
  %".244" = load i64, ptr %".84"
  %".245" = load i64, ptr %".90"
  %".246" = add i64 %".244", %".245"
  store i64 %".246", ptr %".91"
  %".248" = load i64, ptr %".91"
  %".264" = sub i64 %".248", %".263"
  %".265" = call i64 @"llvm.fshr.i64"(i64 %".264", i64 %".264", i64 2)
  %".267" = icmp ult i64 %".265", %".266"
  br i1 %".267", label %"fast.2", label %"slow.2", !prof !2
fast.2:
  %".269" = getelementptr i8, ptr %".259", i64 %".264"
  br label %"after.2"
slow.2:
  %".271" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".248", i64 4, i64 2)
  %".272" = icmp eq ptr %".271", null
  br i1 %".272", label %"fault", label %"after.2", !prof !3
after.2:
  %".274" = phi  ptr [%".269", %"fast.2"], [%".271", %"slow.2"]
  %".275" = load i32, ptr %".89"
  store i32 %".275", ptr %".274", align 4
  store i32 0, ptr %".57"
  br label %"next_thread.1"
tid_x_done.1:
  %".285" = add i32 %".193", 1
  store i32 %".285", ptr %".181"
  %".287" = icmp ult i32 %".285", %".52"
  br i1 %".287", label %"tid_y.1", label %"tid_y_done.1"
tid_y_done.1:
  %".289" = add i32 %".194", 1
  store i32 %".289", ptr %".183"
  %".291" = icmp ult i32 %".289", %".54"
  br i1 %".291", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".28"
  %".303" = load i32, ptr %".31"
  %".304" = add i32 %".303", 1
  store i32 %".304", ptr %".31"
  %".306" = icmp eq i32 %".304", %".21"
  br i1 %".306", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".309" = load i32, ptr %".34"
  %".310" = add i32 %".309", 1
  store i32 %".310", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
