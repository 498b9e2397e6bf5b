define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".428" = alloca i64
  %".376" = alloca i64
  %".275" = alloca i32
  %".273" = alloca i32
  %".270" = alloca i32
  %".173" = alloca i64
  %".141" = alloca i64
  %".125" = alloca i64
  %".90" = alloca i32
  %".83" = alloca i32
  %".67" = alloca i32
  %".65" = alloca i32
  %".62" = alloca i32
  %".59" = alloca i32
  %".36" = alloca i32
  %".33" = alloca i32
  %".30" = alloca i32
  %".17" = alloca i64
  %".13" = alloca i64
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
  store i64 0, ptr %".13"
  %".15" = getelementptr i8, ptr %".1", i64 136
  %".16" = load i64, ptr %".15", align 8
  %".19" = getelementptr i8, ptr %".1", i64 88
  %".20" = load i32, ptr %".19", align 8, !range !1
  %".22" = getelementptr i8, ptr %".1", i64 96
  %".23" = load i32, ptr %".22", align 8, !range !1
  %".40" = getelementptr i8, ptr %".1", i64 144
  %".41" = load i64, ptr %".40", align 8
  %".47" = getelementptr i8, ptr %".1", i64 48
  %".48" = load ptr, ptr %".47", align 8
  %".51" = getelementptr i8, ptr %".1", i64 112
  %".52" = load i32, ptr %".51", align 8, !range !2
  %".53" = getelementptr i8, ptr %".1", i64 120
  %".54" = load i32, ptr %".53", align 8, !range !2
  %".55" = getelementptr i8, ptr %".1", i64 128
  %".56" = load i32, ptr %".55", align 8, !range !2
  %".57" = mul i32 %".54", %".56"
  %".58" = mul i32 %".52", %".57"
  %".108" = getelementptr i8, ptr %".48", i64 1024
  %".149" = load ptr, ptr %".1", align 8
  %".150" = load i64, ptr %".149", align 8
  %".194" = load i64, ptr %".149", align 8
  %".298" = load i64, ptr %".149", align 8
  %".318" = load i64, ptr %".149", align 8
  %".340" = load i64, ptr %".149", align 1
  %".341" = getelementptr i8, ptr %".1", i64 16
  %".342" = load ptr, ptr %".341", align 8
  %".343" = getelementptr i8, ptr %".1", i64 24
  %".344" = load i64, ptr %".343", align 8
  %".345" = lshr i64 %".340", 40
  %".346" = mul i64 %".345", 2557247
  %".347" = and i64 %".346", 4194303
  %".348" = icmp ult i64 %".347", %".344"
  %".349" = select  i1 %".348", i64 %".347", i64 0
  %".350" = shl i64 %".349", 5
  %".351" = getelementptr i8, ptr %".342", i64 %".350"
  %".352" = load ptr, ptr %".351"
  %".353" = getelementptr i8, ptr %".351", i64 8
  %".354" = load i64, ptr %".353"
  %".355" = getelementptr i8, ptr %".351", i64 16
  %".356" = load i64, ptr %".355"
  %".357" = lshr i64 %".354", 2
  %".403" = load i64, ptr %".149", align 8
  %".451" = load i64, ptr %".149", align 8
  br label %"first_block"
first_block:
  store i64 %".16", ptr %".17"
  %".21" = zext i32 %".20" to i64
  %".24" = zext i32 %".23" to i64
  %".25" = udiv i64 %".16", %".21"
  %".26" = urem i64 %".16", %".21"
  %".27" = urem i64 %".25", %".24"
  %".28" = udiv i64 %".25", %".24"
  %".29" = trunc i64 %".26" to i32
  store i32 %".29", ptr %".30"
  %".32" = trunc i64 %".27" to i32
  store i32 %".32", ptr %".33"
  %".35" = trunc i64 %".28" to i32
  store i32 %".35", ptr %".36"
  br label %"block"
block:
  %".39" = load i64, ptr %".17"
  %".42" = icmp ult i64 %".39", %".41"
  br i1 %".42", label %"block_body", label %"end"
block_body:
  %".44" = load i32, ptr %".30"
  %".45" = load i32, ptr %".33"
  %".46" = load i32, ptr %".36"
  %".49" = getelementptr i8, ptr %".48", i64 1024
  call void @"llvm.memset.p0.i64"(ptr %".49", i8 255, i64 128, i1 0)
  store i32 0, ptr %".59"
  br label %"region1"
end:
  %".536" = getelementptr i8, ptr %".1", i64 248
  %".537" = load i64, ptr %".536", align 8
  %".538" = load i64, ptr %".13"
  %".539" = add i64 %".537", %".538"
  %".540" = getelementptr i8, ptr %".1", i64 248
  store i64 %".539", ptr %".540", align 8
  store i64 0, ptr %".13"
  ret i32 0
next_block:
  %".515" = load i64, ptr %".17"
  %".516" = add i64 %".515", 1
  store i64 %".516", ptr %".17"
  %".518" = load i32, ptr %".30"
  %".519" = add i32 %".518", 1
  store i32 %".519", ptr %".30"
  %".521" = icmp eq i32 %".519", %".20"
  br i1 %".521", label %"next_block.if", label %"next_block.endif"
region1:
  store i32 0, ptr %".62"
  store i32 0, ptr %".62"
  store i32 0, ptr %".65"
  store i32 0, ptr %".67"
  store i32 0, ptr %".65"
  br label %"tid_z"
tid_z:
  store i32 0, ptr %".67"
  br label %"tid_y"
tid_y:
  %".73" = load i32, ptr %".65"
  %".74" = load i32, ptr %".67"
  %".75" = sub i32 %".52", 1
  store i32 0, ptr %".4"
  store i32 %".74", ptr %".5"
  store i32 %".73", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".82" = trunc i64 1024 to i32
  store i32 0, ptr %".83"
  %".85" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".86" = shl i32 0, %".85"
  %".87" = icmp ult i32 2, 32
  %".88" = select  i1 %".87", i32 %".86", i32 0
  %".89" = add i32 %".82", %".88"
  store i32 %".89", ptr %".90"
  store i32 %".75", ptr %".4"
  store i32 %".74", ptr %".5"
  store i32 %".73", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".98" = trunc i64 1024 to i32
  store i32 %".75", ptr %".83"
  %".100" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".101" = shl i32 %".75", %".100"
  %".102" = icmp ult i32 2, 32
  %".103" = select  i1 %".102", i32 %".101", i32 0
  %".104" = add i32 %".98", %".103"
  store i32 %".104", ptr %".90"
  %".106" = zext i32 %".75" to i64
  %".107" = icmp uge i32 %".52", 16
  %".109" = sub i32 %".89", 1024
  %".110" = call i32 @"llvm.fshr.i32"(i32 %".109", i32 %".109", i32 2)
  %".111" = icmp ult i32 %".110", 32
  %".112" = sub i32 %".104", 1024
  %".113" = call i32 @"llvm.fshr.i32"(i32 %".112", i32 %".112", i32 2)
  %".114" = icmp ult i32 %".113", 32
  %".115" = sub i32 %".89", 1024
  %".116" = zext i32 %".115" to i64
  %".117" = getelementptr i8, ptr %".108", i64 %".116"
  %".118" = and i1 1, %".107"
  %".119" = and i1 %".118", %".111"
  %".120" = and i1 %".119", %".114"
  br i1 %".120", label %"proven_row", label %"checked_row"
row_done:
  %".252" = load i32, ptr %".67"
  %".253" = add i32 %".252", 1
  store i32 %".253", ptr %".67"
  %".255" = icmp ult i32 %".253", %".54"
  br i1 %".255", label %"tid_y", label %"tid_y_done"
proven_row:
  %".122" = load i32, ptr %".65"
  %".123" = load i32, ptr %".67"
  %".124" = load i32, ptr %".62"
  store i64 0, ptr %".125"
  store i64 0, ptr %".125"
  br label %"thread"
checked_row:
  %".170" = load i32, ptr %".65"
  %".171" = load i32, ptr %".67"
  %".172" = load i32, ptr %".62"
  store i64 0, ptr %".173"
  store i64 0, ptr %".173"
  br label %"thread.1"
thread:
  %".129" = load i64, ptr %".125"
  %".130" = zext i32 %".52" to i64
  %".131" = trunc i64 %".129" to i32
  %".132" = add nuw nsw i32 %".124", %".131"
  store i32 %".131", ptr %".4"
  store i32 %".123", ptr %".5"
  store i32 %".122", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".139" = mul i64 %".129", 4
  %".140" = getelementptr i8, ptr %".117", i64 %".139"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i64 0, ptr %".141"
  br label %"b0"
next_thread:
  %".164" = add nuw nsw i64 %".129", 1
  store i64 %".164", ptr %".125"
  %".166" = add nuw nsw i32 %".132", 1
  store i32 %".166", ptr %".62"
  %".168" = icmp ult i64 %".164", %".130"
  br i1 %".168", label %"thread", label %"row_done"
b0:
  %".146" = load i64, ptr %".13"
  %".147" = add i64 %".146", 7
  store i64 %".147", ptr %".13"
  store i64 %".150", ptr %".141"
  store i32 %".131", ptr %".83"
  %".153" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".154" = shl i32 %".131", %".153"
  %".155" = icmp ult i32 2, 32
  %".156" = select  i1 %".155", i32 %".154", i32 0
  %".157" = trunc i64 1024 to i32
  %".158" = add i32 %".157", %".156"
  store i32 %".158", ptr %".90"
  store i32 %".131", ptr %".140", align 4
  store i32 2, ptr %".59"
  br label %"next_thread"
region2:
  store i32 0, ptr %".270"
  store i32 0, ptr %".270"
  store i32 0, ptr %".273"
  store i32 0, ptr %".275"
  store i32 0, ptr %".273"
  br label %"tid_z.1"
never:
  unreachable
thread.1:
  %".177" = load i64, ptr %".173"
  %".178" = zext i32 %".52" to i64
  %".179" = trunc i64 %".177" to i32
  %".180" = add nuw nsw i32 %".172", %".179"
  store i32 %".179", ptr %".4"
  store i32 %".171", ptr %".5"
  store i32 %".170", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i64 0, ptr %".141"
  br label %"b0.1"
next_thread.1:
  %".246" = add nuw nsw i64 %".177", 1
  store i64 %".246", ptr %".173"
  %".248" = add nuw nsw i32 %".180", 1
  store i32 %".248", ptr %".62"
  %".250" = icmp ult i64 %".246", %".178"
  br i1 %".250", label %"thread.1", label %"row_done"
b0.1:
  %".191" = load i64, ptr %".13"
  %".192" = add i64 %".191", 7
  store i64 %".192", ptr %".13"
  store i64 %".194", ptr %".141"
  store i32 %".179", ptr %".83"
  %".197" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".198" = shl i32 %".179", %".197"
  %".199" = icmp ult i32 2, 32
  %".200" = select  i1 %".199", i32 %".198", i32 0
  %".201" = trunc i64 1024 to i32
  %".202" = add i32 %".201", %".200"
  store i32 %".202", ptr %".90"
  %".204" = sub i32 %".202", 1024
  %".205" = call i32 @"llvm.fshr.i32"(i32 %".204", i32 %".204", i32 2)
  %".206" = icmp ult i32 %".205", 32
  br i1 %".206", label %"fast", label %"slow", !prof !3
fast:
  %".208" = zext i32 %".204" to i64
  %".209" = getelementptr i8, ptr %".108", i64 %".208"
  br label %"after"
slow:
  %".211" = zext i32 %".202" to i64
  %".212" = add i64 %".211", 3565187343784607744
  %".213" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".212", i64 4, i64 0)
  %".214" = icmp eq ptr %".213", null
  br i1 %".214", label %"fault", label %"after", !prof !4
after:
  %".241" = phi  ptr [%".209", %"fast"], [%".213", %"slow"]
  store i32 %".179", ptr %".241", align 4
  store i32 2, ptr %".59"
  br label %"next_thread.1"
fault:
  %".215" = load i32, ptr %".4"
  %".216" = zext i32 %".215" to i64
  %".217" = getelementptr i8, ptr %".1", i64 192
  store i64 %".216", ptr %".217", align 8
  %".219" = load i32, ptr %".5"
  %".220" = zext i32 %".219" to i64
  %".221" = getelementptr i8, ptr %".1", i64 200
  store i64 %".220", ptr %".221", align 8
  %".223" = load i32, ptr %".6"
  %".224" = zext i32 %".223" to i64
  %".225" = getelementptr i8, ptr %".1", i64 208
  store i64 %".224", ptr %".225", align 8
  %".227" = load i32, ptr %".7"
  %".228" = zext i32 %".227" to i64
  %".229" = getelementptr i8, ptr %".1", i64 216
  store i64 %".228", ptr %".229", align 8
  %".231" = load i32, ptr %".8"
  %".232" = zext i32 %".231" to i64
  %".233" = getelementptr i8, ptr %".1", i64 224
  store i64 %".232", ptr %".233", align 8
  %".235" = load i32, ptr %".9"
  %".236" = zext i32 %".235" to i64
  %".237" = getelementptr i8, ptr %".1", i64 232
  store i64 %".236", ptr %".237", align 8
  ret i32 1
never.1:
  unreachable
tid_y_done:
  %".257" = load i32, ptr %".65"
  %".258" = add i32 %".257", 1
  store i32 %".258", ptr %".65"
  %".260" = icmp ult i32 %".258", %".56"
  br i1 %".260", label %"tid_z", label %"tid_z_done"
tid_z_done:
  %".262" = getelementptr i8, ptr %".1", i64 248
  %".263" = load i64, ptr %".262", align 8
  %".264" = load i64, ptr %".13"
  %".265" = add i64 %".263", %".264"
  %".266" = getelementptr i8, ptr %".1", i64 248
  store i64 %".265", ptr %".266", align 8
  store i64 0, ptr %".13"
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".275"
  br label %"tid_y.1"
tid_y.1:
  %".281" = load i32, ptr %".273"
  %".282" = load i32, ptr %".275"
  %".283" = sub i32 %".52", 1
  store i32 0, ptr %".4"
  store i32 %".282", ptr %".5"
  store i32 %".281", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".83"
  %".291" = trunc i64 1024 to i32
  %".292" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".293" = shl i32 0, %".292"
  %".294" = icmp ult i32 2, 32
  %".295" = select  i1 %".294", i32 %".293", i32 0
  %".296" = add i32 %".291", %".295"
  store i32 %".296", ptr %".90"
  store i64 %".298", ptr %".141"
  %".300" = zext i32 0 to i64
  %".301" = zext i32 4 to i64
  %".302" = mul i64 %".300", %".301"
  %".303" = add i64 %".298", %".302"
  store i32 %".283", ptr %".4"
  store i32 %".282", ptr %".5"
  store i32 %".281", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".283", ptr %".83"
  %".311" = trunc i64 1024 to i32
  %".312" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".313" = shl i32 %".283", %".312"
  %".314" = icmp ult i32 2, 32
  %".315" = select  i1 %".314", i32 %".313", i32 0
  %".316" = add i32 %".311", %".315"
  store i32 %".316", ptr %".90"
  store i64 %".318", ptr %".141"
  %".320" = zext i32 %".283" to i64
  %".321" = zext i32 4 to i64
  %".322" = mul i64 %".320", %".321"
  %".323" = add i64 %".318", %".322"
  %".324" = zext i32 %".283" to i64
  %".325" = icmp uge i32 %".52", 16
  %".326" = zext i32 %".283" to i64
  %".327" = zext i32 0 to i64
  %".328" = sub i64 %".326", %".327"
  %".329" = mul i64 %".324", 1
  %".330" = icmp eq i64 %".328", %".329"
  %".331" = sub i32 %".296", 1024
  %".332" = call i32 @"llvm.fshr.i32"(i32 %".331", i32 %".331", i32 2)
  %".333" = icmp ult i32 %".332", 32
  %".334" = sub i32 %".316", 1024
  %".335" = call i32 @"llvm.fshr.i32"(i32 %".334", i32 %".334", i32 2)
  %".336" = icmp ult i32 %".335", 32
  %".337" = sub i32 %".296", 1024
  %".338" = zext i32 %".337" to i64
  %".339" = getelementptr i8, ptr %".108", i64 %".338"
  %".358" = sub i64 %".303", %".356"
  %".359" = call i64 @"llvm.fshr.i64"(i64 %".358", i64 %".358", i64 2)
  %".360" = icmp ult i64 %".359", %".357"
  %".361" = sub i64 %".323", %".356"
  %".362" = call i64 @"llvm.fshr.i64"(i64 %".361", i64 %".361", i64 2)
  %".363" = icmp ult i64 %".362", %".357"
  %".364" = sub i64 %".303", %".356"
  %".365" = getelementptr i8, ptr %".352", i64 %".364"
  %".366" = and i1 1, %".325"
  %".367" = and i1 %".366", %".330"
  %".368" = and i1 %".367", %".333"
  %".369" = and i1 %".368", %".336"
  %".370" = and i1 %".369", %".360"
  %".371" = and i1 %".370", %".363"
  br i1 %".371", label %"proven_row.1", label %"checked_row.1"
row_done.1:
  %".497" = load i32, ptr %".275"
  %".498" = add i32 %".497", 1
  store i32 %".498", ptr %".275"
  %".500" = icmp ult i32 %".498", %".54"
  br i1 %".500", label %"tid_y.1", label %"tid_y_done.1"
proven_row.1:
  %".373" = load i32, ptr %".273"
  %".374" = load i32, ptr %".275"
  %".375" = load i32, ptr %".270"
  store i64 0, ptr %".376"
  store i64 0, ptr %".376"
  br label %"thread.2"
checked_row.1:
  %".425" = load i32, ptr %".273"
  %".426" = load i32, ptr %".275"
  %".427" = load i32, ptr %".270"
  store i64 0, ptr %".428"
  store i64 0, ptr %".428"
  br label %"thread.3"
thread.2:
  %".380" = load i64, ptr %".376"
  %".381" = zext i32 %".52" to i64
  %".382" = trunc i64 %".380" to i32
  %".383" = add nuw nsw i32 %".375", %".382"
  store i32 %".382", ptr %".4"
  store i32 %".374", ptr %".5"
  store i32 %".373", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".390" = mul i64 %".380", 4
  %".391" = getelementptr i8, ptr %".339", i64 %".390"
  %".392" = mul i64 %".380", 4
  %".393" = getelementptr i8, ptr %".365", i64 %".392"
  store i32 %".382", ptr %".83"
  %".396" = trunc i64 1024 to i32
  %".397" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".398" = shl i32 %".382", %".397"
  %".399" = icmp ult i32 2, 32
  %".400" = select  i1 %".399", i32 %".398", i32 0
  %".401" = add i32 %".396", %".400"
  store i32 %".401", ptr %".90"
  store i64 %".403", ptr %".141"
  %".405" = load i64, ptr %".13"
  %".406" = add i64 %".405", 6
  store i64 %".406", ptr %".13"
  %".408" = load i32, ptr %".83"
  %".409" = sub i32 31, %".408"
  %".410" = load i32, ptr %".391", align 4
  %".411" = zext i32 %".408" to i64
  %".412" = zext i32 4 to i64
  %".413" = mul i64 %".411", %".412"
  %".414" = load i64, ptr %".141"
  %".415" = add i64 %".414", %".413"
  store i32 %".410", ptr %".393", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.2"
next_thread.2:
  %".419" = add nuw nsw i64 %".380", 1
  store i64 %".419", ptr %".376"
  %".421" = add nuw nsw i32 %".383", 1
  store i32 %".421", ptr %".270"
  %".423" = icmp ult i64 %".419", %".381"
  br i1 %".423", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".432" = load i64, ptr %".428"
  %".433" = zext i32 %".52" to i64
  %".434" = trunc i64 %".432" to i32
  %".435" = add nuw nsw i32 %".427", %".434"
  store i32 %".434", ptr %".4"
  store i32 %".426", ptr %".5"
  store i32 %".425", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".434", ptr %".83"
  %".444" = trunc i64 1024 to i32
  %".445" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".446" = shl i32 %".434", %".445"
  %".447" = icmp ult i32 2, 32
  %".448" = select  i1 %".447", i32 %".446", i32 0
  %".449" = add i32 %".444", %".448"
  store i32 %".449", ptr %".90"
  store i64 %".451", ptr %".141"
  %".453" = load i64, ptr %".13"
  %".454" = add i64 %".453", 6
  store i64 %".454", ptr %".13"
  %".456" = load i32, ptr %".83"
  %".457" = sub i32 31, %".456"
  %".458" = load i32, ptr %".90"
  %".459" = sub i32 %".458", 1024
  %".460" = call i32 @"llvm.fshr.i32"(i32 %".459", i32 %".459", i32 2)
  %".461" = icmp ult i32 %".460", 32
  br i1 %".461", label %"fast.1", label %"slow.1", !prof !3
next_thread.3:
  %".491" = add nuw nsw i64 %".432", 1
  store i64 %".491", ptr %".428"
  %".493" = add nuw nsw i32 %".435", 1
  store i32 %".493", ptr %".270"
  %".495" = icmp ult i64 %".491", %".433"
  br i1 %".495", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".463" = zext i32 %".459" to i64
  %".464" = getelementptr i8, ptr %".108", i64 %".463"
  br label %"after.1"
slow.1:
  %".466" = zext i32 %".458" to i64
  %".467" = add i64 %".466", 3565187343784607744
  %".468" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".467", i64 4, i64 1)
  %".469" = icmp eq ptr %".468", null
  br i1 %".469", label %"fault", label %"after.1", !prof !4
after.1:
  %".471" = phi  ptr [%".464", %"fast.1"], [%".468", %"slow.1"]
  %".472" = load i32, ptr %".471", align 4
  %".473" = zext i32 %".456" to i64
  %".474" = zext i32 4 to i64
  %".475" = mul i64 %".473", %".474"
  %".476" = load i64, ptr %".141"
  %".477" = add i64 %".476", %".475"
  %".478" = sub i64 %".477", %".356"
  %".479" = call i64 @"llvm.fshr.i64"(i64 %".478", i64 %".478", i64 2)
  %".480" = icmp ult i64 %".479", %".357"
  br i1 %".480", label %"fast.2", label %"slow.2", !prof !3
fast.2:
  %".482" = getelementptr i8, ptr %".352", i64 %".478"
  br label %"after.2"
slow.2:
  %".484" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".477", i64 4, i64 2)
  %".485" = icmp eq ptr %".484", null
  br i1 %".485", label %"fault", label %"after.2", !prof !4
after.2:
  %".487" = phi  ptr [%".482", %"fast.2"], [%".484", %"slow.2"]
  store i32 %".472", ptr %".487", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.3"
tid_y_done.1:
  %".502" = load i32, ptr %".273"
  %".503" = add i32 %".502", 1
  store i32 %".503", ptr %".273"
  %".505" = icmp ult i32 %".503", %".56"
  br i1 %".505", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  %".507" = getelementptr i8, ptr %".1", i64 248
  %".508" = load i64, ptr %".507", align 8
  %".509" = load i64, ptr %".13"
  %".510" = add i64 %".508", %".509"
  %".511" = getelementptr i8, ptr %".1", i64 248
  store i64 %".510", ptr %".511", align 8
  store i64 0, ptr %".13"
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".524" = load i32, ptr %".33"
  %".525" = add i32 %".524", 1
  store i32 %".525", ptr %".33"
  %".527" = icmp eq i32 %".525", %".23"
  br i1 %".527", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".530" = load i32, ptr %".36"
  %".531" = add i32 %".530", 1
  store i32 %".531", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
