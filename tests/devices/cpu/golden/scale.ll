define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".89" = alloca i64
  %".88" = alloca i64
  %".87" = alloca i64
  %".86" = alloca i1
  %".85" = alloca i32
  %".84" = alloca i32
  %".83" = alloca i32
  %".82" = alloca i32
  %".81" = alloca i32
  %".80" = alloca i64
  %".62" = alloca i32
  %".60" = alloca i32
  %".58" = alloca i32
  %".56" = alloca i32
  %".53" = alloca i32
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
  %".45" = getelementptr i8, ptr %".1", i64 112
  %".46" = load i32, ptr %".45", align 8, !range !1
  %".47" = getelementptr i8, ptr %".1", i64 120
  %".48" = load i32, ptr %".47", align 8, !range !1
  %".49" = getelementptr i8, ptr %".1", i64 128
  %".50" = load i32, ptr %".49", align 8, !range !1
  %".51" = mul i32 %".48", %".50"
  %".52" = mul i32 %".46", %".51"
  %".101" = load ptr, ptr %".1", align 8
  %".102" = load i64, ptr %".101", align 8
  %".104" = getelementptr i8, ptr %".101", i64 8
  %".105" = load i32, ptr %".104", align 4
  %".135" = load i64, ptr %".101", align 1
  %".136" = lshr i64 %".135", 40
  %".137" = getelementptr i8, ptr %".1", i64 24
  %".138" = load i64, ptr %".137", align 8
  %".139" = icmp ult i64 %".136", %".138"
  %".140" = select  i1 %".139", i64 %".136", i64 0
  %".141" = getelementptr i8, ptr %".1", i64 16
  %".142" = load ptr, ptr %".141", align 8
  %".143" = shl i64 %".140", 5
  %".144" = getelementptr i8, ptr %".142", i64 %".143"
  %".145" = load ptr, ptr %".144"
  %".146" = getelementptr i8, ptr %".144", i64 8
  %".147" = load i64, ptr %".146"
  %".148" = getelementptr i8, ptr %".144", i64 16
  %".149" = load i64, ptr %".148"
  %".152" = lshr i64 %".147", 2
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
  store i32 0, ptr %".53"
  br label %"region1"
end:
  ret i32 0
next_block:
  %".214" = load i64, ptr %".15"
  %".215" = add i64 %".214", 1
  store i64 %".215", ptr %".15"
  %".217" = load i32, ptr %".28"
  %".218" = add i32 %".217", 1
  store i32 %".218", ptr %".28"
  %".220" = icmp eq i32 %".218", %".18"
  br i1 %".220", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".56"
  store i32 0, ptr %".58"
  store i32 0, ptr %".60"
  store i32 0, ptr %".62"
  store i32 0, ptr %".62"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".60"
  br label %"tid_y"
tid_y:
  store i32 0, ptr %".58"
  br label %"tid_x"
tid_x:
  %".70" = load i32, ptr %".56"
  %".71" = load i32, ptr %".58"
  %".72" = load i32, ptr %".60"
  %".73" = load i32, ptr %".62"
  store i32 %".71", ptr %".4"
  store i32 %".72", ptr %".5"
  store i32 %".73", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i64 0, ptr %".80"
  store i32 0, ptr %".81"
  store i32 0, ptr %".82"
  store i32 0, ptr %".83"
  store i32 0, ptr %".84"
  store i32 0, ptr %".85"
  store i1 0, ptr %".86"
  store i64 0, ptr %".87"
  store i64 0, ptr %".88"
  store i64 0, ptr %".89"
  br label %"b0"
next_thread:
  %".199" = add i32 %".70", 1
  store i32 %".199", ptr %".56"
  %".201" = add i32 %".71", 1
  store i32 %".201", ptr %".58"
  %".203" = icmp ult i32 %".201", %".46"
  br i1 %".203", label %"tid_x", label %"tid_x_done"
b0:
  store i64 %".102", ptr %".80"
  store i32 %".105", ptr %".81"
  store i32 %".42", ptr %".82"
  store i32 %".46", ptr %".83"
  store i32 %".71", ptr %".84"
  %".110" = load i32, ptr %".82"
  %".111" = load i32, ptr %".83"
  %".112" = mul i32 %".110", %".111"
  %".113" = load i32, ptr %".84"
  %".114" = add i32 %".112", %".113"
  store i32 %".114", ptr %".85"
  %".116" = load i32, ptr %".85"
  %".117" = load i32, ptr %".81"
  %".118" = icmp sge i32 %".116", %".117"
  %".119" = xor i1 %".118", -1
  store i1 %".118", ptr %".86"
  %".121" = load i1, ptr %".86"
  br i1 %".121", label %"b2", label %"b1"
b2:
  store i32 0, ptr %".53"
  br label %"next_thread"
b1:
  %".123" = load i64, ptr %".80"
  store i64 %".123", ptr %".87"
  %".125" = load i32, ptr %".85"
  %".126" = sext i32 %".125" to i64
  %".127" = sext i32 4 to i64
  %".128" = mul i64 %".126", %".127"
  store i64 %".128", ptr %".88"
  %".130" = load i64, ptr %".87"
  %".131" = load i64, ptr %".88"
  %".132" = add i64 %".130", %".131"
  store i64 %".132", ptr %".89"
  %".134" = load i64, ptr %".89"
  %".150" = sub i64 %".134", %".149"
  %".151" = call i64 @"llvm.fshr.i64"(i64 %".150", i64 %".150", i64 2)
  %".153" = icmp ult i64 %".151", %".152"
  br i1 %".153", label %"fast", label %"slow", !prof !2
fast:
  %".155" = getelementptr i8, ptr %".145", i64 %".150"
  br label %"after"
slow:
  %".157" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".134", i64 4, i64 0)
  %".158" = icmp eq ptr %".157", null
  br i1 %".158", label %"fault", label %"after", !prof !3
after:
  %".185" = phi  ptr [%".155", %"fast"], [%".157", %"slow"]
  %".186" = load i32, ptr %".185", align 4
  store i32 %".186", ptr %".82"
  %".188" = load i32, ptr %".82"
  %".189" = call i32 @"llvm.umin.i32"(i32 1, i32 31)
  %".190" = shl i32 %".188", %".189"
  %".191" = icmp ult i32 1, 32
  %".192" = select  i1 %".191", i32 %".190", i32 0
  store i32 %".192", ptr %".82"
  %".194" = load i32, ptr %".82"
  store i32 %".194", ptr %".185", align 4
  br label %"b2"
fault:
  %".159" = load i32, ptr %".4"
  %".160" = zext i32 %".159" to i64
  %".161" = getelementptr i8, ptr %".1", i64 192
  store i64 %".160", ptr %".161", align 8
  %".163" = load i32, ptr %".5"
  %".164" = zext i32 %".163" to i64
  %".165" = getelementptr i8, ptr %".1", i64 200
  store i64 %".164", ptr %".165", align 8
  %".167" = load i32, ptr %".6"
  %".168" = zext i32 %".167" to i64
  %".169" = getelementptr i8, ptr %".1", i64 208
  store i64 %".168", ptr %".169", align 8
  %".171" = load i32, ptr %".7"
  %".172" = zext i32 %".171" to i64
  %".173" = getelementptr i8, ptr %".1", i64 216
  store i64 %".172", ptr %".173", align 8
  %".175" = load i32, ptr %".8"
  %".176" = zext i32 %".175" to i64
  %".177" = getelementptr i8, ptr %".1", i64 224
  store i64 %".176", ptr %".177", align 8
  %".179" = load i32, ptr %".9"
  %".180" = zext i32 %".179" to i64
  %".181" = getelementptr i8, ptr %".1", i64 232
  store i64 %".180", ptr %".181", align 8
  ret i32 1
tid_x_done:
  %".205" = add i32 %".72", 1
  store i32 %".205", ptr %".60"
  %".207" = icmp ult i32 %".205", %".48"
  br i1 %".207", label %"tid_y", label %"tid_y_done"
tid_y_done:
  %".209" = add i32 %".73", 1
  store i32 %".209", ptr %".62"
  %".211" = icmp ult i32 %".209", %".50"
  br i1 %".211", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".28"
  %".223" = load i32, ptr %".31"
  %".224" = add i32 %".223", 1
  store i32 %".224", ptr %".31"
  %".226" = icmp eq i32 %".224", %".21"
  br i1 %".226", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".229" = load i32, ptr %".34"
  %".230" = add i32 %".229", 1
  store i32 %".230", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
