define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".95" = alloca i64
  %".94" = alloca i64
  %".93" = alloca i32
  %".92" = alloca i32
  %".91" = alloca i32
  %".90" = alloca i32
  %".89" = alloca i32
  %".88" = alloca i64
  %".70" = alloca i32
  %".68" = alloca i32
  %".66" = alloca i32
  %".64" = alloca i32
  %".60" = alloca i32
  %".58" = alloca i32
  %".56" = alloca i32
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
  %".19" = getelementptr i8, ptr %".1", i64 144
  %".20" = load i64, ptr %".19", align 8
  %".24" = getelementptr i8, ptr %".1", i64 88
  %".25" = load i32, ptr %".24", align 8, !range !0
  %".27" = getelementptr i8, ptr %".1", i64 96
  %".28" = load i32, ptr %".27", align 8, !range !0
  %".37" = getelementptr i8, ptr %".1", i64 48
  %".38" = load ptr, ptr %".37", align 8
  %".41" = getelementptr i8, ptr %".1", i64 80
  %".42" = load ptr, ptr %".41", align 8
  %".43" = getelementptr i8, ptr %".1", i64 112
  %".44" = load i32, ptr %".43", align 8, !range !1
  %".45" = getelementptr i8, ptr %".1", i64 120
  %".46" = load i32, ptr %".45", align 8, !range !1
  %".47" = getelementptr i8, ptr %".1", i64 128
  %".48" = load i32, ptr %".47", align 8, !range !1
  %".49" = mul i32 %".46", %".48"
  %".50" = mul i32 %".44", %".49"
  %".105" = load ptr, ptr %".1", align 8
  %".106" = load i64, ptr %".105", align 8
  %".122" = getelementptr i8, ptr %".38", i64 1024
  %".182" = load i64, ptr %".105", align 8
  %".188" = getelementptr i8, ptr %".38", i64 1024
  %".214" = load i64, ptr %".105", align 1
  %".215" = lshr i64 %".214", 40
  %".216" = getelementptr i8, ptr %".1", i64 24
  %".217" = load i64, ptr %".216", align 8
  %".218" = icmp ult i64 %".215", %".217"
  %".219" = select  i1 %".218", i64 %".215", i64 0
  %".220" = getelementptr i8, ptr %".1", i64 16
  %".221" = load ptr, ptr %".220", align 8
  %".222" = shl i64 %".219", 4
  %".223" = getelementptr i8, ptr %".221", i64 %".222"
  %".224" = load ptr, ptr %".223"
  %".225" = getelementptr i8, ptr %".223", i64 8
  %".226" = load i64, ptr %".225"
  %".227" = shl i64 %".219", 40
  %".228" = or i64 %".227", 274877906944
  %".231" = lshr i64 %".226", 2
  br label %"first_block"
first_block:
  store i64 %".14", ptr %".15"
  br label %"block"
block:
  %".18" = load i64, ptr %".15"
  %".21" = icmp ult i64 %".18", %".20"
  br i1 %".21", label %"block_body", label %"end"
block_body:
  %".23" = load i64, ptr %".15"
  %".26" = zext i32 %".25" to i64
  %".29" = zext i32 %".28" to i64
  %".30" = urem i64 %".23", %".26"
  %".31" = udiv i64 %".23", %".26"
  %".32" = urem i64 %".31", %".29"
  %".33" = udiv i64 %".31", %".29"
  %".34" = trunc i64 %".30" to i32
  %".35" = trunc i64 %".32" to i32
  %".36" = trunc i64 %".33" to i32
  %".39" = getelementptr i8, ptr %".38", i64 1024
  call void @"llvm.memset.p0.i64"(ptr %".39", i8 255, i64 128, i1 0)
  %".51" = zext i32 %".50" to i64
  %".52" = shl i64 %".51", 2
  call void @"llvm.memset.p0.i64"(ptr %".42", i8 0, i64 %".52", i1 0)
  %".54" = getelementptr i8, ptr %".42", i64 37440
  call void @"llvm.memset.p0.i64"(ptr %".54", i8 0, i64 400, i1 0)
  store i32 %".50", ptr %".56"
  store i32 0, ptr %".58"
  store i32 0, ptr %".60"
  br label %"pass"
end:
  ret i32 0
next_block:
  %".294" = load i64, ptr %".15"
  %".295" = add i64 %".294", 1
  store i64 %".295", ptr %".15"
  br label %"block"
pass:
  store i32 0, ptr %".60"
  store i32 0, ptr %".64"
  store i32 0, ptr %".66"
  store i32 0, ptr %".68"
  store i32 0, ptr %".70"
  br label %"thread"
thread:
  %".73" = load i32, ptr %".70"
  %".74" = load i32, ptr %".64"
  %".75" = load i32, ptr %".66"
  %".76" = load i32, ptr %".68"
  store i32 %".74", ptr %".4"
  store i32 %".75", ptr %".5"
  store i32 %".76", ptr %".6"
  store i32 %".34", ptr %".7"
  store i32 %".35", ptr %".8"
  store i32 %".36", ptr %".9"
  %".83" = getelementptr i32, ptr %".42", i32 %".73"
  %".84" = load i32, ptr %".83"
  %".85" = load i32, ptr %".58"
  %".86" = xor i32 %".84", %".85"
  switch i32 %".86", label %"next_thread" [i32 0, label %"start" i32 1, label %"resume1"]
next_thread:
  %".250" = add i32 %".73", 1
  store i32 %".250", ptr %".70"
  %".252" = load i32, ptr %".64"
  %".253" = add i32 %".252", 1
  store i32 %".253", ptr %".64"
  %".255" = icmp eq i32 %".253", %".44"
  br i1 %".255", label %"next_thread.if", label %"next_thread.endif"
thread_end:
  %".244" = getelementptr i32, ptr %".42", i32 %".73"
  store i32 1073741824, ptr %".244"
  %".246" = load i32, ptr %".56"
  %".247" = add i32 %".246", 4294967295
  store i32 %".247", ptr %".56"
  br label %"next_thread"
start:
  store i64 0, ptr %".88"
  store i32 0, ptr %".89"
  store i32 0, ptr %".90"
  store i32 0, ptr %".91"
  store i32 0, ptr %".92"
  store i32 0, ptr %".93"
  store i64 0, ptr %".94"
  store i64 0, ptr %".95"
  br label %"b0"
b0:
  store i64 %".106", ptr %".88"
  store i32 %".74", ptr %".89"
  %".109" = load i32, ptr %".89"
  %".110" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".111" = shl i32 %".109", %".110"
  %".112" = icmp ult i32 2, 32
  %".113" = select  i1 %".112", i32 %".111", i32 0
  store i32 %".113", ptr %".90"
  %".115" = trunc i64 1024 to i32
  store i32 %".115", ptr %".91"
  %".117" = load i32, ptr %".91"
  %".118" = load i32, ptr %".90"
  %".119" = add i32 %".117", %".118"
  store i32 %".119", ptr %".92"
  %".121" = load i32, ptr %".92"
  %".123" = sub i32 %".121", 1024
  %".124" = call i32 @"llvm.fshr.i32"(i32 %".123", i32 %".123", i32 2)
  %".125" = icmp ult i32 %".124", 32
  br i1 %".125", label %"fast", label %"slow", !prof !2
b1:
  br label %"thread_end"
fast:
  %".127" = zext i32 %".123" to i64
  %".128" = getelementptr i8, ptr %".122", i64 %".127"
  br label %"after"
slow:
  %".130" = zext i32 %".121" to i64
  %".131" = add i64 %".130", 1099511627776
  %".132" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".131", i64 4, i64 0)
  %".133" = icmp eq ptr %".132", null
  br i1 %".133", label %"fault", label %"after", !prof !3
after:
  %".160" = phi  ptr [%".128", %"fast"], [%".132", %"slow"]
  %".161" = load i32, ptr %".89"
  store i32 %".161", ptr %".160", align 4
  %".163" = getelementptr i32, ptr %".42", i32 %".73"
  store i32 4294967294, ptr %".163"
  %".165" = load i32, ptr %".60"
  %".166" = add i32 %".165", 1
  store i32 %".166", ptr %".60"
  br label %"next_thread"
fault:
  %".134" = load i32, ptr %".4"
  %".135" = zext i32 %".134" to i64
  %".136" = getelementptr i8, ptr %".1", i64 192
  store i64 %".135", ptr %".136", align 8
  %".138" = load i32, ptr %".5"
  %".139" = zext i32 %".138" to i64
  %".140" = getelementptr i8, ptr %".1", i64 200
  store i64 %".139", ptr %".140", align 8
  %".142" = load i32, ptr %".6"
  %".143" = zext i32 %".142" to i64
  %".144" = getelementptr i8, ptr %".1", i64 208
  store i64 %".143", ptr %".144", align 8
  %".146" = load i32, ptr %".7"
  %".147" = zext i32 %".146" to i64
  %".148" = getelementptr i8, ptr %".1", i64 216
  store i64 %".147", ptr %".148", align 8
  %".150" = load i32, ptr %".8"
  %".151" = zext i32 %".150" to i64
  %".152" = getelementptr i8, ptr %".1", i64 224
  store i64 %".151", ptr %".152", align 8
  %".154" = load i32, ptr %".9"
  %".155" = zext i32 %".154" to i64
  %".156" = getelementptr i8, ptr %".1", i64 232
  store i64 %".155", ptr %".156", align 8
  ret i32 1
resume1:
  store i32 %".74", ptr %".89"
  %".170" = trunc i64 1024 to i32
  store i32 %".170", ptr %".91"
  %".172" = load i32, ptr %".89"
  %".173" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".174" = shl i32 %".172", %".173"
  %".175" = icmp ult i32 2, 32
  %".176" = select  i1 %".175", i32 %".174", i32 0
  store i32 %".176", ptr %".90"
  %".178" = load i32, ptr %".91"
  %".179" = load i32, ptr %".90"
  %".180" = add i32 %".178", %".179"
  store i32 %".180", ptr %".92"
  store i64 %".182", ptr %".88"
  %".184" = load i32, ptr %".89"
  %".185" = sub i32 31, %".184"
  store i32 %".185", ptr %".93"
  %".187" = load i32, ptr %".92"
  %".189" = sub i32 %".187", 1024
  %".190" = call i32 @"llvm.fshr.i32"(i32 %".189", i32 %".189", i32 2)
  %".191" = icmp ult i32 %".190", 32
  br i1 %".191", label %"fast.1", label %"slow.1", !prof !2
fast.1:
  %".193" = zext i32 %".189" to i64
  %".194" = getelementptr i8, ptr %".188", i64 %".193"
  br label %"after.1"
slow.1:
  %".196" = zext i32 %".187" to i64
  %".197" = add i64 %".196", 1099511627776
  %".198" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".197", i64 4, i64 2)
  %".199" = icmp eq ptr %".198", null
  br i1 %".199", label %"fault", label %"after.1", !prof !3
after.1:
  %".201" = phi  ptr [%".194", %"fast.1"], [%".198", %"slow.1"]
  %".202" = load i32, ptr %".201", align 4
  store i32 %".202", ptr %".93"
  %".204" = load i32, ptr %".89"
  %".205" = zext i32 %".204" to i64
  %".206" = zext i32 4 to i64
  %".207" = mul i64 %".205", %".206"
  store i64 %".207", ptr %".94"
  %".209" = load i64, ptr %".88"
  %".210" = load i64, ptr %".94"
  %".211" = add i64 %".209", %".210"
  store i64 %".211", ptr %".95"
  %".213" = load i64, ptr %".95"
  %".229" = sub i64 %".213", %".228"
  %".230" = call i64 @"llvm.fshr.i64"(i64 %".229", i64 %".229", i64 2)
  %".232" = icmp ult i64 %".230", %".231"
  br i1 %".232", label %"fast.2", label %"slow.2", !prof !2
fast.2:
  %".234" = getelementptr i8, ptr %".224", i64 %".229"
  br label %"after.2"
slow.2:
  %".236" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".213", i64 4, i64 3)
  %".237" = icmp eq ptr %".236", null
  br i1 %".237", label %"fault", label %"after.2", !prof !3
after.2:
  %".239" = phi  ptr [%".234", %"fast.2"], [%".236", %"slow.2"]
  %".240" = load i32, ptr %".93"
  store i32 %".240", ptr %".239", align 4
  br label %"thread_end"
next_thread.if:
  store i32 0, ptr %".64"
  %".258" = load i32, ptr %".66"
  %".259" = add i32 %".258", 1
  store i32 %".259", ptr %".66"
  %".261" = icmp eq i32 %".259", %".46"
  br i1 %".261", label %"next_thread.if.if", label %"next_thread.if.endif"
next_thread.endif:
  %".269" = icmp ult i32 %".250", %".50"
  br i1 %".269", label %"thread", label %"pass_end"
next_thread.if.if:
  store i32 0, ptr %".66"
  %".264" = load i32, ptr %".68"
  %".265" = add i32 %".264", 1
  store i32 %".265", ptr %".68"
  br label %"next_thread.if.endif"
next_thread.if.endif:
  br label %"next_thread.endif"
pass_end:
  %".271" = load i32, ptr %".56"
  %".272" = icmp eq i32 %".271", 0
  br i1 %".272", label %"next_block", label %"not_done"
all_arrived:
  store i32 4294967295, ptr %".58"
  br label %"pass"
schedule:
  %".279" = call i32 @"schedule"(ptr %".42", [2 x i8]* @"kinds.kernel_0", i32 %".50")
  store i32 0, ptr %".58"
  switch i32 %".279", label %"stuck" [i32 0, label %"pass" i32 2, label %"next_block"]
not_done:
  %".274" = load i32, ptr %".60"
  %".275" = icmp eq i32 %".274", %".271"
  br i1 %".275", label %"all_arrived", label %"schedule"
stuck:
  %".282" = getelementptr i8, ptr %".1", i64 168
  store i64 4, ptr %".282", align 8
  %".284" = zext i32 %".34" to i64
  %".285" = getelementptr i8, ptr %".1", i64 216
  store i64 %".284", ptr %".285", align 8
  %".287" = zext i32 %".35" to i64
  %".288" = getelementptr i8, ptr %".1", i64 224
  store i64 %".287", ptr %".288", align 8
  %".290" = zext i32 %".36" to i64
  %".291" = getelementptr i8, ptr %".1", i64 232
  store i64 %".290", ptr %".291", align 8
  ret i32 1
}
