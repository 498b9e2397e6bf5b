define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".494" = alloca i64
  %".431" = alloca i64
  %".303" = alloca i32
  %".301" = alloca i32
  %".298" = alloca i32
  %".198" = alloca i64
  %".157" = alloca i64
  %".156" = alloca i64
  %".155" = alloca i32
  %".154" = alloca i64
  %".139" = alloca i64
  %".95" = alloca i32
  %".90" = alloca i32
  %".83" = alloca i32
  %".81" = alloca i32
  %".65" = alloca i32
  %".63" = alloca i32
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
  %".120" = getelementptr i8, ptr %".46", i64 1024
  %".126" = getelementptr i8, ptr %".46", i64 1024
  %".167" = load ptr, ptr %".1", align 8
  %".168" = load i64, ptr %".167", align 8
  %".220" = load i64, ptr %".167", align 8
  %".236" = getelementptr i8, ptr %".46", i64 1024
  %".331" = load i64, ptr %".167", align 8
  %".364" = load i64, ptr %".167", align 8
  %".385" = getelementptr i8, ptr %".46", i64 1024
  %".391" = getelementptr i8, ptr %".46", i64 1024
  %".397" = load i64, ptr %".167", align 1
  %".398" = lshr i64 %".397", 40
  %".399" = getelementptr i8, ptr %".1", i64 24
  %".400" = load i64, ptr %".399", align 8
  %".401" = icmp ult i64 %".398", %".400"
  %".402" = select  i1 %".401", i64 %".398", i64 0
  %".403" = getelementptr i8, ptr %".1", i64 16
  %".404" = load ptr, ptr %".403", align 8
  %".405" = shl i64 %".402", 5
  %".406" = getelementptr i8, ptr %".404", i64 %".405"
  %".407" = load ptr, ptr %".406"
  %".408" = getelementptr i8, ptr %".406", i64 8
  %".409" = load i64, ptr %".408"
  %".410" = getelementptr i8, ptr %".406", i64 16
  %".411" = load i64, ptr %".410"
  %".414" = lshr i64 %".409", 2
  %".449" = getelementptr i8, ptr %".1", i64 80
  %".450" = load ptr, ptr %".449", align 8
  %".464" = load i64, ptr %".167", align 8
  %".521" = load i64, ptr %".167", align 8
  %".527" = getelementptr i8, ptr %".46", i64 1024
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
  %".585" = load i64, ptr %".15"
  %".586" = add i64 %".585", 1
  store i64 %".586", ptr %".15"
  %".588" = load i32, ptr %".28"
  %".589" = add i32 %".588", 1
  store i32 %".589", ptr %".28"
  %".591" = icmp eq i32 %".589", %".18"
  br i1 %".591", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".60"
  store i32 0, ptr %".60"
  store i32 0, ptr %".63"
  store i32 0, ptr %".65"
  store i32 0, ptr %".63"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".65"
  br label %"tid_y"
tid_y:
  %".71" = load i32, ptr %".63"
  %".72" = load i32, ptr %".65"
  %".73" = sub i32 %".50", 1
  store i32 0, ptr %".4"
  store i32 %".72", ptr %".5"
  store i32 %".71", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".80" = trunc i64 1024 to i32
  store i32 %".80", ptr %".81"
  store i32 0, ptr %".83"
  %".85" = load i32, ptr %".83"
  %".86" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".87" = shl i32 %".85", %".86"
  %".88" = icmp ult i32 2, 32
  %".89" = select  i1 %".88", i32 %".87", i32 0
  store i32 %".89", ptr %".90"
  %".92" = load i32, ptr %".81"
  %".93" = load i32, ptr %".90"
  %".94" = add i32 %".92", %".93"
  store i32 %".94", ptr %".95"
  %".97" = load i32, ptr %".95"
  store i32 %".73", ptr %".4"
  store i32 %".72", ptr %".5"
  store i32 %".71", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".104" = trunc i64 1024 to i32
  store i32 %".104", ptr %".81"
  store i32 %".73", ptr %".83"
  %".107" = load i32, ptr %".83"
  %".108" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".109" = shl i32 %".107", %".108"
  %".110" = icmp ult i32 2, 32
  %".111" = select  i1 %".110", i32 %".109", i32 0
  store i32 %".111", ptr %".90"
  %".113" = load i32, ptr %".81"
  %".114" = load i32, ptr %".90"
  %".115" = add i32 %".113", %".114"
  store i32 %".115", ptr %".95"
  %".117" = load i32, ptr %".95"
  %".118" = zext i32 %".73" to i64
  %".119" = icmp uge i32 %".50", 16
  %".121" = sub i32 %".97", 1024
  %".122" = call i32 @"llvm.fshr.i32"(i32 %".121", i32 %".121", i32 2)
  %".123" = icmp ult i32 %".122", 32
  %".124" = zext i32 %".121" to i64
  %".125" = getelementptr i8, ptr %".120", i64 %".124"
  %".127" = sub i32 %".117", 1024
  %".128" = call i32 @"llvm.fshr.i32"(i32 %".127", i32 %".127", i32 2)
  %".129" = icmp ult i32 %".128", 32
  %".130" = zext i32 %".127" to i64
  %".131" = getelementptr i8, ptr %".126", i64 %".130"
  %".132" = and i1 1, %".119"
  %".133" = and i1 %".132", %".123"
  %".134" = and i1 %".133", %".129"
  br i1 %".134", label %"proven_row", label %"checked_row"
row_done:
  %".287" = load i32, ptr %".65"
  %".288" = add i32 %".287", 1
  store i32 %".288", ptr %".65"
  %".290" = icmp ult i32 %".288", %".52"
  br i1 %".290", label %"tid_y", label %"tid_y_done"
proven_row:
  %".136" = load i32, ptr %".60"
  %".137" = load i32, ptr %".63"
  %".138" = load i32, ptr %".65"
  store i64 0, ptr %".139"
  store i64 0, ptr %".139"
  br label %"thread"
checked_row:
  %".195" = load i32, ptr %".60"
  %".196" = load i32, ptr %".63"
  %".197" = load i32, ptr %".65"
  store i64 0, ptr %".198"
  store i64 0, ptr %".198"
  br label %"thread.1"
thread:
  %".143" = load i64, ptr %".139"
  %".144" = trunc i64 %".143" to i32
  %".145" = add nuw nsw i32 %".136", %".144"
  store i32 %".144", ptr %".4"
  store i32 %".138", ptr %".5"
  store i32 %".137", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".152" = mul i64 %".143", 4
  %".153" = getelementptr i8, ptr %".125", i64 %".152"
  store i32 0, ptr %".81"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i32 0, ptr %".95"
  store i64 0, ptr %".154"
  store i32 0, ptr %".155"
  store i64 0, ptr %".156"
  store i64 0, ptr %".157"
  br label %"b0"
next_thread:
  %".188" = add nuw nsw i64 %".143", 1
  store i64 %".188", ptr %".139"
  %".190" = add nuw nsw i32 %".145", 1
  store i32 %".190", ptr %".60"
  %".192" = zext i32 %".50" to i64
  %".193" = icmp ult i64 %".188", %".192"
  br i1 %".193", label %"thread", label %"row_done"
b0:
  store i64 %".168", ptr %".154"
  store i32 %".144", ptr %".83"
  %".171" = load i32, ptr %".83"
  %".172" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".173" = shl i32 %".171", %".172"
  %".174" = icmp ult i32 2, 32
  %".175" = select  i1 %".174", i32 %".173", i32 0
  store i32 %".175", ptr %".90"
  %".177" = trunc i64 1024 to i32
  store i32 %".177", ptr %".81"
  %".179" = load i32, ptr %".81"
  %".180" = load i32, ptr %".90"
  %".181" = add i32 %".179", %".180"
  store i32 %".181", ptr %".95"
  %".183" = load i32, ptr %".83"
  store i32 %".183", ptr %".153", align 4
  store i32 2, ptr %".57"
  br label %"next_thread"
region2:
  store i32 0, ptr %".298"
  store i32 0, ptr %".298"
  store i32 0, ptr %".301"
  store i32 0, ptr %".303"
  store i32 0, ptr %".301"
  br label %"tid_z.1"
never:
  unreachable
thread.1:
  %".202" = load i64, ptr %".198"
  %".203" = trunc i64 %".202" to i32
  %".204" = add nuw nsw i32 %".195", %".203"
  store i32 %".203", ptr %".4"
  store i32 %".197", ptr %".5"
  store i32 %".196", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 0, ptr %".81"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i32 0, ptr %".95"
  store i64 0, ptr %".154"
  store i32 0, ptr %".155"
  store i64 0, ptr %".156"
  store i64 0, ptr %".157"
  br label %"b0.1"
next_thread.1:
  %".280" = add nuw nsw i64 %".202", 1
  store i64 %".280", ptr %".198"
  %".282" = add nuw nsw i32 %".204", 1
  store i32 %".282", ptr %".60"
  %".284" = zext i32 %".50" to i64
  %".285" = icmp ult i64 %".280", %".284"
  br i1 %".285", label %"thread.1", label %"row_done"
b0.1:
  store i64 %".220", ptr %".154"
  store i32 %".203", ptr %".83"
  %".223" = load i32, ptr %".83"
  %".224" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".225" = shl i32 %".223", %".224"
  %".226" = icmp ult i32 2, 32
  %".227" = select  i1 %".226", i32 %".225", i32 0
  store i32 %".227", ptr %".90"
  %".229" = trunc i64 1024 to i32
  store i32 %".229", ptr %".81"
  %".231" = load i32, ptr %".81"
  %".232" = load i32, ptr %".90"
  %".233" = add i32 %".231", %".232"
  store i32 %".233", ptr %".95"
  %".235" = load i32, ptr %".95"
  %".237" = sub i32 %".235", 1024
  %".238" = call i32 @"llvm.fshr.i32"(i32 %".237", i32 %".237", i32 2)
  %".239" = icmp ult i32 %".238", 32
  br i1 %".239", label %"fast", label %"slow", !prof !2
fast:
  %".241" = zext i32 %".237" to i64
  %".242" = getelementptr i8, ptr %".236", i64 %".241"
  br label %"after"
slow:
  %".244" = zext i32 %".235" to i64
  %".245" = add i64 %".244", 1099511627776
  %".246" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".245", i64 4, i64 0)
  %".247" = icmp eq ptr %".246", null
  br i1 %".247", label %"fault", label %"after", !prof !3
after:
  %".274" = phi  ptr [%".242", %"fast"], [%".246", %"slow"]
  %".275" = load i32, ptr %".83"
  store i32 %".275", ptr %".274", align 4
  store i32 2, ptr %".57"
  br label %"next_thread.1"
fault:
  %".248" = load i32, ptr %".4"
  %".249" = zext i32 %".248" to i64
  %".250" = getelementptr i8, ptr %".1", i64 192
  store i64 %".249", ptr %".250", align 8
  %".252" = load i32, ptr %".5"
  %".253" = zext i32 %".252" to i64
  %".254" = getelementptr i8, ptr %".1", i64 200
  store i64 %".253", ptr %".254", align 8
  %".256" = load i32, ptr %".6"
  %".257" = zext i32 %".256" to i64
  %".258" = getelementptr i8, ptr %".1", i64 208
  store i64 %".257", ptr %".258", align 8
  %".260" = load i32, ptr %".7"
  %".261" = zext i32 %".260" to i64
  %".262" = getelementptr i8, ptr %".1", i64 216
  store i64 %".261", ptr %".262", align 8
  %".264" = load i32, ptr %".8"
  %".265" = zext i32 %".264" to i64
  %".266" = getelementptr i8, ptr %".1", i64 224
  store i64 %".265", ptr %".266", align 8
  %".268" = load i32, ptr %".9"
  %".269" = zext i32 %".268" to i64
  %".270" = getelementptr i8, ptr %".1", i64 232
  store i64 %".269", ptr %".270", align 8
  ret i32 1
never.1:
  unreachable
tid_y_done:
  %".292" = load i32, ptr %".63"
  %".293" = add i32 %".292", 1
  store i32 %".293", ptr %".63"
  %".295" = icmp ult i32 %".293", %".54"
  br i1 %".295", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".303"
  br label %"tid_y.1"
tid_y.1:
  %".309" = load i32, ptr %".301"
  %".310" = load i32, ptr %".303"
  %".311" = sub i32 %".50", 1
  store i32 0, ptr %".4"
  store i32 %".310", ptr %".5"
  store i32 %".309", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 0, ptr %".83"
  %".319" = trunc i64 1024 to i32
  store i32 %".319", ptr %".81"
  %".321" = load i32, ptr %".83"
  %".322" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".323" = shl i32 %".321", %".322"
  %".324" = icmp ult i32 2, 32
  %".325" = select  i1 %".324", i32 %".323", i32 0
  store i32 %".325", ptr %".90"
  %".327" = load i32, ptr %".81"
  %".328" = load i32, ptr %".90"
  %".329" = add i32 %".327", %".328"
  store i32 %".329", ptr %".95"
  store i64 %".331", ptr %".154"
  %".333" = load i32, ptr %".83"
  %".334" = zext i32 %".333" to i64
  %".335" = zext i32 4 to i64
  %".336" = mul i64 %".334", %".335"
  store i64 %".336", ptr %".156"
  %".338" = load i64, ptr %".154"
  %".339" = load i64, ptr %".156"
  %".340" = add i64 %".338", %".339"
  store i64 %".340", ptr %".157"
  %".342" = load i32, ptr %".83"
  %".343" = load i32, ptr %".95"
  %".344" = load i64, ptr %".157"
  store i32 %".311", ptr %".4"
  store i32 %".310", ptr %".5"
  store i32 %".309", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 %".311", ptr %".83"
  %".352" = trunc i64 1024 to i32
  store i32 %".352", ptr %".81"
  %".354" = load i32, ptr %".83"
  %".355" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".356" = shl i32 %".354", %".355"
  %".357" = icmp ult i32 2, 32
  %".358" = select  i1 %".357", i32 %".356", i32 0
  store i32 %".358", ptr %".90"
  %".360" = load i32, ptr %".81"
  %".361" = load i32, ptr %".90"
  %".362" = add i32 %".360", %".361"
  store i32 %".362", ptr %".95"
  store i64 %".364", ptr %".154"
  %".366" = load i32, ptr %".83"
  %".367" = zext i32 %".366" to i64
  %".368" = zext i32 4 to i64
  %".369" = mul i64 %".367", %".368"
  store i64 %".369", ptr %".156"
  %".371" = load i64, ptr %".154"
  %".372" = load i64, ptr %".156"
  %".373" = add i64 %".371", %".372"
  store i64 %".373", ptr %".157"
  %".375" = load i32, ptr %".83"
  %".376" = load i32, ptr %".95"
  %".377" = load i64, ptr %".157"
  %".378" = zext i32 %".311" to i64
  %".379" = icmp uge i32 %".50", 16
  %".380" = zext i32 %".375" to i64
  %".381" = zext i32 %".342" to i64
  %".382" = sub i64 %".380", %".381"
  %".383" = mul i64 %".378", 1
  %".384" = icmp eq i64 %".382", %".383"
  %".386" = sub i32 %".343", 1024
  %".387" = call i32 @"llvm.fshr.i32"(i32 %".386", i32 %".386", i32 2)
  %".388" = icmp ult i32 %".387", 32
  %".389" = zext i32 %".386" to i64
  %".390" = getelementptr i8, ptr %".385", i64 %".389"
  %".392" = sub i32 %".376", 1024
  %".393" = call i32 @"llvm.fshr.i32"(i32 %".392", i32 %".392", i32 2)
  %".394" = icmp ult i32 %".393", 32
  %".395" = zext i32 %".392" to i64
  %".396" = getelementptr i8, ptr %".391", i64 %".395"
  %".412" = sub i64 %".344", %".411"
  %".413" = call i64 @"llvm.fshr.i64"(i64 %".412", i64 %".412", i64 2)
  %".415" = icmp ult i64 %".413", %".414"
  %".416" = getelementptr i8, ptr %".407", i64 %".412"
  %".417" = sub i64 %".377", %".411"
  %".418" = call i64 @"llvm.fshr.i64"(i64 %".417", i64 %".417", i64 2)
  %".419" = icmp ult i64 %".418", %".414"
  %".420" = getelementptr i8, ptr %".407", i64 %".417"
  %".421" = and i1 1, %".379"
  %".422" = and i1 %".421", %".384"
  %".423" = and i1 %".422", %".388"
  %".424" = and i1 %".423", %".394"
  %".425" = and i1 %".424", %".415"
  %".426" = and i1 %".425", %".419"
  br i1 %".426", label %"proven_row.1", label %"checked_row.1"
row_done.1:
  %".574" = load i32, ptr %".303"
  %".575" = add i32 %".574", 1
  store i32 %".575", ptr %".303"
  %".577" = icmp ult i32 %".575", %".52"
  br i1 %".577", label %"tid_y.1", label %"tid_y_done.1"
proven_row.1:
  %".428" = load i32, ptr %".298"
  %".429" = load i32, ptr %".301"
  %".430" = load i32, ptr %".303"
  store i64 0, ptr %".431"
  store i64 0, ptr %".431"
  br label %"thread.2"
checked_row.1:
  %".491" = load i32, ptr %".298"
  %".492" = load i32, ptr %".301"
  %".493" = load i32, ptr %".303"
  store i64 0, ptr %".494"
  store i64 0, ptr %".494"
  br label %"thread.3"
thread.2:
  %".435" = load i64, ptr %".431"
  %".436" = trunc i64 %".435" to i32
  %".437" = add nuw nsw i32 %".428", %".436"
  store i32 %".436", ptr %".4"
  store i32 %".430", ptr %".5"
  store i32 %".429", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  %".444" = mul i64 %".435", 4
  %".445" = getelementptr i8, ptr %".390", i64 %".444"
  %".446" = mul i64 %".435", 4
  %".447" = getelementptr i8, ptr %".416", i64 %".446"
  store i32 %".436", ptr %".83"
  %".452" = trunc i64 1024 to i32
  store i32 %".452", ptr %".81"
  %".454" = load i32, ptr %".83"
  %".455" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".456" = shl i32 %".454", %".455"
  %".457" = icmp ult i32 2, 32
  %".458" = select  i1 %".457", i32 %".456", i32 0
  store i32 %".458", ptr %".90"
  %".460" = load i32, ptr %".81"
  %".461" = load i32, ptr %".90"
  %".462" = add i32 %".460", %".461"
  store i32 %".462", ptr %".95"
  store i64 %".464", ptr %".154"
  %".466" = load i32, ptr %".83"
  %".467" = sub i32 31, %".466"
  store i32 %".467", ptr %".155"
  %".469" = load i32, ptr %".445", align 4
  store i32 %".469", ptr %".155"
  %".471" = load i32, ptr %".83"
  %".472" = zext i32 %".471" to i64
  %".473" = zext i32 4 to i64
  %".474" = mul i64 %".472", %".473"
  store i64 %".474", ptr %".156"
  %".476" = load i64, ptr %".154"
  %".477" = load i64, ptr %".156"
  %".478" = add i64 %".476", %".477"
  store i64 %".478", ptr %".157"
  %".480" = load i32, ptr %".155"
  store i32 %".480", ptr %".447", align 4
  store i32 0, ptr %".57"
  br label %"next_thread.2"
next_thread.2:
  %".484" = add nuw nsw i64 %".435", 1
  store i64 %".484", ptr %".431"
  %".486" = add nuw nsw i32 %".437", 1
  store i32 %".486", ptr %".298"
  %".488" = zext i32 %".50" to i64
  %".489" = icmp ult i64 %".484", %".488"
  br i1 %".489", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".498" = load i64, ptr %".494"
  %".499" = trunc i64 %".498" to i32
  %".500" = add nuw nsw i32 %".491", %".499"
  store i32 %".499", ptr %".4"
  store i32 %".493", ptr %".5"
  store i32 %".492", ptr %".6"
  store i32 %".42", ptr %".7"
  store i32 %".43", ptr %".8"
  store i32 %".44", ptr %".9"
  store i32 %".499", ptr %".83"
  %".509" = trunc i64 1024 to i32
  store i32 %".509", ptr %".81"
  %".511" = load i32, ptr %".83"
  %".512" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".513" = shl i32 %".511", %".512"
  %".514" = icmp ult i32 2, 32
  %".515" = select  i1 %".514", i32 %".513", i32 0
  store i32 %".515", ptr %".90"
  %".517" = load i32, ptr %".81"
  %".518" = load i32, ptr %".90"
  %".519" = add i32 %".517", %".518"
  store i32 %".519", ptr %".95"
  store i64 %".521", ptr %".154"
  %".523" = load i32, ptr %".83"
  %".524" = sub i32 31, %".523"
  store i32 %".524", ptr %".155"
  %".526" = load i32, ptr %".95"
  %".528" = sub i32 %".526", 1024
  %".529" = call i32 @"llvm.fshr.i32"(i32 %".528", i32 %".528", i32 2)
  %".530" = icmp ult i32 %".529", 32
  br i1 %".530", label %"fast.1", label %"slow.1", !prof !2
next_thread.3:
  %".567" = add nuw nsw i64 %".498", 1
  store i64 %".567", ptr %".494"
  %".569" = add nuw nsw i32 %".500", 1
  store i32 %".569", ptr %".298"
  %".571" = zext i32 %".50" to i64
  %".572" = icmp ult i64 %".567", %".571"
  br i1 %".572", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".532" = zext i32 %".528" to i64
  %".533" = getelementptr i8, ptr %".527", i64 %".532"
  br label %"after.1"
slow.1:
  %".535" = zext i32 %".526" to i64
  %".536" = add i64 %".535", 1099511627776
  %".537" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".536", i64 4, i64 1)
  %".538" = icmp eq ptr %".537", null
  br i1 %".538", label %"fault", label %"after.1", !prof !3
after.1:
  %".540" = phi  ptr [%".533", %"fast.1"], [%".537", %"slow.1"]
  %".541" = load i32, ptr %".540", align 4
  store i32 %".541", ptr %".155"
  %".543" = load i32, ptr %".83"
  %".544" = zext i32 %".543" to i64
  %".545" = zext i32 4 to i64
  %".546" = mul i64 %".544", %".545"
  store i64 %".546", ptr %".156"
  %".548" = load i64, ptr %".154"
  %".549" = load i64, ptr %".156"
  %".550" = add i64 %".548", %".549"
  store i64 %".550", ptr %".157"
  %".552" = load i64, ptr %".157"
  %".553" = sub i64 %".552", %".411"
  %".554" = call i64 @"llvm.fshr.i64"(i64 %".553", i64 %".553", i64 2)
  %".555" = icmp ult i64 %".554", %".414"
  br i1 %".555", label %"fast.2", label %"slow.2", !prof !2
fast.2:
  %".557" = getelementptr i8, ptr %".407", i64 %".553"
  br label %"after.2"
slow.2:
  %".559" = call ptr @"resolve"(ptr %".1", ptr %".11", i64 %".552", i64 4, i64 2)
  %".560" = icmp eq ptr %".559", null
  br i1 %".560", label %"fault", label %"after.2", !prof !3
after.2:
  %".562" = phi  ptr [%".557", %"fast.2"], [%".559", %"slow.2"]
  %".563" = load i32, ptr %".155"
  store i32 %".563", ptr %".562", align 4
  store i32 0, ptr %".57"
  br label %"next_thread.3"
tid_y_done.1:
  %".579" = load i32, ptr %".301"
  %".580" = add i32 %".579", 1
  store i32 %".580", ptr %".301"
  %".582" = icmp ult i32 %".580", %".54"
  br i1 %".582", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".28"
  %".594" = load i32, ptr %".31"
  %".595" = add i32 %".594", 1
  store i32 %".595", ptr %".31"
  %".597" = icmp eq i32 %".595", %".21"
  br i1 %".597", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".31"
  %".600" = load i32, ptr %".34"
  %".601" = add i32 %".600", 1
  store i32 %".601", ptr %".34"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
