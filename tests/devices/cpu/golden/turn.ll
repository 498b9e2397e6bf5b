define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".103" = alloca i64
  %".102" = alloca i64
  %".101" = alloca i32
  %".100" = alloca i32
  %".99" = alloca i32
  %".98" = alloca i32
  %".97" = alloca i32
  %".96" = alloca i64
  %".78" = alloca i32
  %".76" = alloca i32
  %".74" = alloca i32
  %".72" = alloca i32
  %".68" = alloca i32
  %".66" = alloca i32
  %".64" = alloca i32
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
  %".49" = getelementptr i8, ptr %".1", i64 80
  %".50" = load ptr, ptr %".49", align 8
  %".51" = getelementptr i8, ptr %".1", i64 112
  %".52" = load i32, ptr %".51", align 8, !range !1
  %".53" = getelementptr i8, ptr %".1", i64 120
  %".54" = load i32, ptr %".53", align 8, !range !1
  %".55" = getelementptr i8, ptr %".1", i64 128
  %".56" = load i32, ptr %".55", align 8, !range !1
  %".57" = mul i32 %".54", %".56"
  %".58" = mul i32 %".52", %".57"
  %".113" = load ptr, ptr %".1", align 8
  %".114" = load i64, ptr %".113", align 8
  %".130" = getelementptr i8, ptr %".46", i64 1024
  %".190" = load i64, ptr %".113", align 8
  %".196" = getelementptr i8, ptr %".46", i64 1024
  %".222" = load i64, ptr %".113", align 1
  %".223" = lshr i64 %".222", 40
  %".224" = getelementptr i8, ptr %".1", i64 24
  %".225" = load i64, ptr %".224", align 8
  %".226" = icmp ult i64 %".223", %".225"
  %".227" = select  i1 %".226", i64 %".223", i64 0
  %".228" = getelementptr i8, ptr %".1", i64 16
  %".229" = load ptr, ptr %".228", align 8
  %".230" = shl i64 %".227", 5
  %".231" = getelementptr i8, ptr %".229", i64 %".230"
  %".232" = load ptr, ptr %".231"
  %".233" = getelementptr i8, ptr %".231", i64 8
  %".234" = load i64, ptr %".233"
  %".235" = getelementptr i8, ptr %".231", i64 16
  %".236" = load i64, ptr %".235"
  %".239" = lshr i64 %".234", 2
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
  %".59" = zext i32 %".58" to i64
  %".60" = shl i64 %".59", 2
  call void @"llvm.memset.p0.i64"(ptr %".50", i8 0, i64 %".60", i1 0)
  %".62" = getelementptr i8, ptr %".50", i64 37440
  call void @"llvm.memset.p0.i64"(ptr %".62", i8 0, i64 400, i1 0)
  store i32 %".58", ptr %".64"
  store i32 0, ptr %".66"
  store i32 0, ptr %".68"
  br label %"pass"
end:
  ret i32 0
next_block:
  %".302" = load i64, ptr %".15"
  %".303" = add i64 %".302", 1
  store i64 %".303", ptr %".15"
  %".305" = load i32, ptr %".28"
  %".306" = add i32 %".305", 1
  store i32 %".306", ptr %".28"
  %".308" = icmp eq i32 %".306", %".18"
  br i1 %".308", label %"next_block.if", label %"next_block.endif"
pass:
  store i32 0, ptr %".68"
  store i32 0, ptr %".72"
  store i32 0, ptr %".74"
  store i32 0, ptr %".76"
  store i32 0, ptr %".78"
  br label %"thread"
thread:
  %".81" = load i32, ptr %".78"
  %".82" = load i32, ptr %".72"
  %".83" = load i32, ptr %".74"
  %".84" = load i32, ptr %".76"
  store i32 %".82", ptr %".4"
  store i32 %".83", ptr %".5"
  store i32 %".84", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".91" = getelementptr i32, ptr %".50", i32 %".81"
  %".92" = load i32, ptr %".91"
  %".93" = load i32, ptr %".66"
  %".94" = xor i32 %".92", %".93"
  switch i32 %".94", label %"next_thread" [i32 0, label %"start" i32 1, label %"resume1"]
next_thread:
  %".258" = add i32 %".81", 1
  store i32 %".258", ptr %".78"
  %".260" = load i32, ptr %".72"
  %".261" = add i32 %".260", 1
  store i32 %".261", ptr %".72"
  %".263" = icmp eq i32 %".261", %".52"
  br i1 %".263", label %"next_thread.if", label %"next_thread.endif"
thread_end:
  %".252" = getelementptr i32, ptr %".50", i32 %".81"
  store i32 1073741824, ptr %".252"
  %".254" = load i32, ptr %".64"
  %".255" = add i32 %".254", 4294967295
  store i32 %".255", ptr %".64"
  br label %"next_thread"
start:
  store i64 0, ptr %".96"
  store i32 0, ptr %".97"
  store i32 0, ptr %".98"
  store i32 0, ptr %".99"
  store i32 0, ptr %".100"
  store i32 0, ptr %".101"
  store i64 0, ptr %".102"
  store i64 0, ptr %".103"
  br label %"b0"
b0:
  store i64 %".114", ptr %".96"
  store i32 %".82", ptr %".97"
  %".117" = load i32, ptr %".97"
  %".118" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".119" = shl i32 %".117", %".118"
  %".120" = icmp ult i32 2, 32
  %".121" = select  i1 %".120", i32 %".119", i32 0
  store i32 %".121", ptr %".98"
  %".123" = trunc i64 1024 to i32
  store i32 %".123", ptr %".99"
  %".125" = load i32, ptr %".99"
  %".126" = load i32, ptr %".98"
  %".127" = add i32 %".125", %".126"
  store i32 %".127", ptr %".100"
  %".129" = load i32, ptr %".100"
  %".131" = sub i32 %".129", 1024
  %".132" = call i32 @"llvm.fshr.i32"(i32 %".131", i32 %".131", i32 2)
  %".133" = icmp ult i32 %".132", 32
  br i1 %".133", label %"fast", label %"slow", !prof !2
b1:
  br label %"thread_end"
fast:
  %".135" = zext i32 %".131" to i64
  %".136" = getelementptr i8, ptr %".130", i64 %".135"
  br label %"after"
slow:
  %".138" = zext i32 %".129" to i64
  %".139" = add i64 %".138", 1099511627776
  %".140" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".139", i64 4, i64 0)
  %".141" = icmp eq ptr %".140", null
  br i1 %".141", label %"fault", label %"after", !prof !3
after:
  %".168" = phi  ptr [%".136", %"fast"], [%".140", %"slow"]
  %".169" = load i32, ptr %".97"
  store i32 %".169", ptr %".168", align 4
  %".171" = getelementptr i32, ptr %".50", i32 %".81"
  store i32 4294967294, ptr %".171"
  %".173" = load i32, ptr %".68"
  %".174" = add i32 %".173", 1
  store i32 %".174", ptr %".68"
  br label %"next_thread"
fault:
  %".142" = load i32, ptr %".4"
  %".143" = zext i32 %".142" to i64
  %".144" = getelementptr i8, ptr %".1", i64 192
  store i64 %".143", ptr %".144", align 8
  %".146" = load i32, ptr %".5"
  %".147" = zext i32 %".146" to i64
  %".148" = getelementptr i8, ptr %".1", i64 200
  store i64 %".147", ptr %".148", align 8
  %".150" = load i32, ptr %".6"
  %".151" = zext i32 %".150" to i64
  %".152" = getelementptr i8, ptr %".1", i64 208
  store i64 %".151", ptr %".152", align 8
  %".154" = load i32, ptr %".7"
  %".155" = zext i32 %".154" to i64
  %".156" = getelementptr i8, ptr %".1", i64 216
  store i64 %".155", ptr %".156", align 8
  %".158" = load i32, ptr %".8"
  %".159" = zext i32 %".158" to i64
  %".160" = getelementptr i8, ptr %".1", i64 224
  store i64 %".159", ptr %".160", align 8
  %".162" = load i32, ptr %".9"
  %".163" = zext i32 %".162" to i64
  %".164" = getelementptr i8, ptr %".1", i64 232
  store i64 %".163", ptr %".164", align 8
  ret i32 1
resume1:
  store i32 %".82", ptr %".97"
  %".178" = trunc i64 1024 to i32
  store i32 %".178", ptr %".99"
  %".180" = load i32, ptr %".97"
  %".181" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".182" = shl i32 %".180", %".181"
  %".183" = icmp ult i32 2, 32
  %".184" = select  i1 %".183", i32 %".182", i32 0
  store i32 %".184", ptr %".98"
  %".186" = load i32, ptr %".99"
  %".187" = load i32, ptr %".98"
  %".188" = add i32 %".186", %".187"
  store i32 %".188", ptr %".100"
  store i64 %".190", ptr %".96"
  %".192" = load i32, ptr %".97"
  %".193" = sub i32 31, %".192"
  store i32 %".193", ptr %".101"
  %".195" = load i32, ptr %".100"
  %".197" = sub i32 %".195", 1024
  %".198" = call i32 @"llvm.fshr.i32"(i32 %".197", i32 %".197", i32 2)
  %".199" = icmp ult i32 %".198", 32
  br i1 %".199", label %"fast.1", label %"slow.1", !prof !2
fast.1:
  %".201" = zext i32 %".197" to i64
  %".202" = getelementptr i8, ptr %".196", i64 %".201"
  br label %"after.1"
slow.1:
  %".204" = zext i32 %".195" to i64
  %".205" = add i64 %".204", 1099511627776
  %".206" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".205", i64 4, i64 2)
  %".207" = icmp eq ptr %".206", null
  br i1 %".207", label %"fault", label %"after.1", !prof !3
after.1:
  %".209" = phi  ptr [%".202", %"fast.1"], [%".206", %"slow.1"]
  %".210" = load i32, ptr %".209", align 4
  store i32 %".210", ptr %".101"
  %".212" = load i32, ptr %".97"
  %".213" = zext i32 %".212" to i64
  %".214" = zext i32 4 to i64
  %".215" = mul i64 %".213", %".214"
  store i64 %".215", ptr %".102"
  %".217" = load i64, ptr %".96"
  %".218" = load i64, ptr %".102"
  %".219" = add i64 %".217", %".218"
  store i64 %".219", ptr %".103"
  %".221" = load i64, ptr %".103"
  %".237" = sub i64 %".221", %".236"
  %".238" = call i64 @"llvm.fshr.i64"(i64 %".237", i64 %".237", i64 2)
  %".240" = icmp ult i64 %".238", %".239"
  br i1 %".240", label %"fast.2", label %"slow.2", !prof !2
fast.2:
  %".242" = getelementptr i8, ptr %".232", i64 %".237"
  br label %"after.2"
slow.2:
  %".244" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".221", i64 4, i64 3)
  %".245" = icmp eq ptr %".244", null
  br i1 %".245", label %"fault", label %"after.2", !prof !3
after.2:
  %".247" = phi  ptr [%".242", %"fast.2"], [%".244", %"slow.2"]
  %".248" = load i32, ptr %".101"
  store i32 %".248", ptr %".247", align 4
  br label %"thread_end"
next_thread.if:
  store i32 0, ptr %".72"
  %".266" = load i32, ptr %".74"
  %".267" = add i32 %".266", 1
  store i32 %".267", ptr %".74"
  %".269" = icmp eq i32 %".267", %".54"
  br i1 %".269", label %"next_thread.if.if", label %"next_thread.if.endif"
next_thread.endif:
  %".277" = icmp ult i32 %".258", %".58"
  br i1 %".277", label %"thread", label %"pass_end"
next_thread.if.if:
  store i32 0, ptr %".74"
  %".272" = load i32, ptr %".76"
  %".273" = add i32 %".272", 1
  store i32 %".273", ptr %".76"
  br label %"next_thread.if.endif"
next_thread.if.endif:
  br label %"next_thread.endif"
pass_end:
  %".279" = load i32, ptr %".64"
  %".280" = icmp eq i32 %".279", 0
  br i1 %".280", label %"next_block", label %"not_done"
all_arrived:
  store i32 4294967295, ptr %".66"
  br label %"pass"
schedule:
  %".287" = call i32 @"schedule"(ptr %".50", [2 x i8]* @"kinds.kernel_0", i32 %".58")
  store i32 0, ptr %".66"
  switch i32 %".287", label %"stuck" [i32 0, label %"pass" i32 2, label %"next_block"]
not_done:
  %".282" = load i32, ptr %".68"
  %".283" = icmp eq i32 %".282", %".279"
  br i1 %".283", label %"all_arrived", label %"schedule"
stuck:
  %".290" = getelementptr i8, ptr %".1", i64 168
  store i64 4, ptr %".290", align 8
  %".292" = zext i32 %".42" to i64
  %".293" = getelementptr i8, ptr %".1", i64 216
  store i64 %".292", ptr %".293", align 8
  %".295" = zext i32 %".43" to i64
  %".296" = getelementptr i8, ptr %".1", i64 224
  store i64 %".295", ptr %".296", align 8
  %".298" = zext i32 %".44" to i64
  %".299" = getelementptr i8, ptr %".1", i64 232
  store i64 %".298", ptr %".299", align 8
  ret i32 1
next_block.if:
  store i32 0, ptr %".28"
  %".311" = load i32, ptr %".31"
  %".312" = add i32 %".311", 1
  store i32 %".312", ptr %".31"
  %".314" = icmp eq i32 %".312", %".21"
  br i1 %".314", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".317" = load i32, ptr %".34"
  %".318" = add i32 %".317", 1
  store i32 %".318", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
