define internal i32 @"kernel_0.body"(ptr %".1") noinline nounwind
{
slots:
  %".423" = alloca i64
  %".371" = alloca i64
  %".269" = alloca i32
  %".267" = alloca i32
  %".264" = alloca i32
  %".174" = alloca i64
  %".142" = alloca i64
  %".126" = alloca i64
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
  %".150" = load ptr, ptr %".1", align 8
  %".151" = load i64, ptr %".150", align 8
  %".195" = load i64, ptr %".150", align 8
  %".292" = load i64, ptr %".150", align 8
  %".312" = load i64, ptr %".150", align 8
  %".335" = load i64, ptr %".150", align 1
  %".336" = getelementptr i8, ptr %".1", i64 16
  %".337" = load ptr, ptr %".336", align 8
  %".338" = getelementptr i8, ptr %".1", i64 24
  %".339" = load i64, ptr %".338", align 8
  %".340" = lshr i64 %".335", 40
  %".341" = mul i64 %".340", 2557247
  %".342" = and i64 %".341", 4194303
  %".343" = icmp ult i64 %".342", %".339"
  %".344" = select  i1 %".343", i64 %".342", i64 0
  %".345" = shl i64 %".344", 5
  %".346" = getelementptr i8, ptr %".337", i64 %".345"
  %".347" = load ptr, ptr %".346"
  %".348" = getelementptr i8, ptr %".346", i64 8
  %".349" = load i64, ptr %".348"
  %".350" = getelementptr i8, ptr %".346", i64 16
  %".351" = load i64, ptr %".350"
  %".354" = lshr i64 %".349", 2
  %".398" = load i64, ptr %".150", align 8
  %".446" = load i64, ptr %".150", align 8
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
  %".524" = getelementptr i8, ptr %".1", i64 248
  %".525" = load i64, ptr %".524", align 8
  %".526" = load i64, ptr %".13"
  %".527" = add i64 %".525", %".526"
  %".528" = getelementptr i8, ptr %".1", i64 248
  store i64 %".527", ptr %".528", align 8
  ret i32 0
next_block:
  %".503" = load i64, ptr %".17"
  %".504" = add i64 %".503", 1
  store i64 %".504", ptr %".17"
  %".506" = load i32, ptr %".30"
  %".507" = add i32 %".506", 1
  store i32 %".507", ptr %".30"
  %".509" = icmp eq i32 %".507", %".20"
  br i1 %".509", label %"next_block.if", label %"next_block.endif"
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
  %".112" = zext i32 %".109" to i64
  %".113" = getelementptr i8, ptr %".108", i64 %".112"
  %".114" = sub i32 %".104", 1024
  %".115" = call i32 @"llvm.fshr.i32"(i32 %".114", i32 %".114", i32 2)
  %".116" = icmp ult i32 %".115", 32
  %".117" = zext i32 %".114" to i64
  %".118" = getelementptr i8, ptr %".108", i64 %".117"
  %".119" = and i1 1, %".107"
  %".120" = and i1 %".119", %".111"
  %".121" = and i1 %".120", %".116"
  br i1 %".121", label %"proven_row", label %"checked_row"
row_done:
  %".253" = load i32, ptr %".67"
  %".254" = add i32 %".253", 1
  store i32 %".254", ptr %".67"
  %".256" = icmp ult i32 %".254", %".54"
  br i1 %".256", label %"tid_y", label %"tid_y_done"
proven_row:
  %".123" = load i32, ptr %".65"
  %".124" = load i32, ptr %".67"
  %".125" = load i32, ptr %".62"
  store i64 0, ptr %".126"
  store i64 0, ptr %".126"
  br label %"thread"
checked_row:
  %".171" = load i32, ptr %".65"
  %".172" = load i32, ptr %".67"
  %".173" = load i32, ptr %".62"
  store i64 0, ptr %".174"
  store i64 0, ptr %".174"
  br label %"thread.1"
thread:
  %".130" = load i64, ptr %".126"
  %".131" = zext i32 %".52" to i64
  %".132" = trunc i64 %".130" to i32
  %".133" = add nuw nsw i32 %".125", %".132"
  store i32 %".132", ptr %".4"
  store i32 %".124", ptr %".5"
  store i32 %".123", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".140" = mul i64 %".130", 4
  %".141" = getelementptr i8, ptr %".113", i64 %".140"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i64 0, ptr %".142"
  br label %"b0"
next_thread:
  %".165" = add nuw nsw i64 %".130", 1
  store i64 %".165", ptr %".126"
  %".167" = add nuw nsw i32 %".133", 1
  store i32 %".167", ptr %".62"
  %".169" = icmp ult i64 %".165", %".131"
  br i1 %".169", label %"thread", label %"row_done"
b0:
  %".147" = load i64, ptr %".13"
  %".148" = add i64 %".147", 7
  store i64 %".148", ptr %".13"
  store i64 %".151", ptr %".142"
  store i32 %".132", ptr %".83"
  %".154" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".155" = shl i32 %".132", %".154"
  %".156" = icmp ult i32 2, 32
  %".157" = select  i1 %".156", i32 %".155", i32 0
  %".158" = trunc i64 1024 to i32
  %".159" = add i32 %".158", %".157"
  store i32 %".159", ptr %".90"
  store i32 %".132", ptr %".141", align 4
  store i32 2, ptr %".59"
  br label %"next_thread"
region2:
  store i32 0, ptr %".264"
  store i32 0, ptr %".264"
  store i32 0, ptr %".267"
  store i32 0, ptr %".269"
  store i32 0, ptr %".267"
  br label %"tid_z.1"
never:
  unreachable
thread.1:
  %".178" = load i64, ptr %".174"
  %".179" = zext i32 %".52" to i64
  %".180" = trunc i64 %".178" to i32
  %".181" = add nuw nsw i32 %".173", %".180"
  store i32 %".180", ptr %".4"
  store i32 %".172", ptr %".5"
  store i32 %".171", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".83"
  store i32 0, ptr %".90"
  store i64 0, ptr %".142"
  br label %"b0.1"
next_thread.1:
  %".247" = add nuw nsw i64 %".178", 1
  store i64 %".247", ptr %".174"
  %".249" = add nuw nsw i32 %".181", 1
  store i32 %".249", ptr %".62"
  %".251" = icmp ult i64 %".247", %".179"
  br i1 %".251", label %"thread.1", label %"row_done"
b0.1:
  %".192" = load i64, ptr %".13"
  %".193" = add i64 %".192", 7
  store i64 %".193", ptr %".13"
  store i64 %".195", ptr %".142"
  store i32 %".180", ptr %".83"
  %".198" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".199" = shl i32 %".180", %".198"
  %".200" = icmp ult i32 2, 32
  %".201" = select  i1 %".200", i32 %".199", i32 0
  %".202" = trunc i64 1024 to i32
  %".203" = add i32 %".202", %".201"
  store i32 %".203", ptr %".90"
  %".205" = sub i32 %".203", 1024
  %".206" = call i32 @"llvm.fshr.i32"(i32 %".205", i32 %".205", i32 2)
  %".207" = icmp ult i32 %".206", 32
  br i1 %".207", label %"fast", label %"slow", !prof !3
fast:
  %".209" = zext i32 %".205" to i64
  %".210" = getelementptr i8, ptr %".108", i64 %".209"
  br label %"after"
slow:
  %".212" = zext i32 %".203" to i64
  %".213" = add i64 %".212", 3565187343784607744
  %".214" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".213", i64 4, i64 0)
  %".215" = icmp eq ptr %".214", null
  br i1 %".215", label %"fault", label %"after", !prof !4
after:
  %".242" = phi  ptr [%".210", %"fast"], [%".214", %"slow"]
  store i32 %".180", ptr %".242", align 4
  store i32 2, ptr %".59"
  br label %"next_thread.1"
fault:
  %".216" = load i32, ptr %".4"
  %".217" = zext i32 %".216" to i64
  %".218" = getelementptr i8, ptr %".1", i64 192
  store i64 %".217", ptr %".218", align 8
  %".220" = load i32, ptr %".5"
  %".221" = zext i32 %".220" to i64
  %".222" = getelementptr i8, ptr %".1", i64 200
  store i64 %".221", ptr %".222", align 8
  %".224" = load i32, ptr %".6"
  %".225" = zext i32 %".224" to i64
  %".226" = getelementptr i8, ptr %".1", i64 208
  store i64 %".225", ptr %".226", align 8
  %".228" = load i32, ptr %".7"
  %".229" = zext i32 %".228" to i64
  %".230" = getelementptr i8, ptr %".1", i64 216
  store i64 %".229", ptr %".230", align 8
  %".232" = load i32, ptr %".8"
  %".233" = zext i32 %".232" to i64
  %".234" = getelementptr i8, ptr %".1", i64 224
  store i64 %".233", ptr %".234", align 8
  %".236" = load i32, ptr %".9"
  %".237" = zext i32 %".236" to i64
  %".238" = getelementptr i8, ptr %".1", i64 232
  store i64 %".237", ptr %".238", align 8
  ret i32 1
never.1:
  unreachable
tid_y_done:
  %".258" = load i32, ptr %".65"
  %".259" = add i32 %".258", 1
  store i32 %".259", ptr %".65"
  %".261" = icmp ult i32 %".259", %".56"
  br i1 %".261", label %"tid_z", label %"tid_z_done"
tid_z_done:
  br label %"region2"
tid_z.1:
  store i32 0, ptr %".269"
  br label %"tid_y.1"
tid_y.1:
  %".275" = load i32, ptr %".267"
  %".276" = load i32, ptr %".269"
  %".277" = sub i32 %".52", 1
  store i32 0, ptr %".4"
  store i32 %".276", ptr %".5"
  store i32 %".275", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 0, ptr %".83"
  %".285" = trunc i64 1024 to i32
  %".286" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".287" = shl i32 0, %".286"
  %".288" = icmp ult i32 2, 32
  %".289" = select  i1 %".288", i32 %".287", i32 0
  %".290" = add i32 %".285", %".289"
  store i32 %".290", ptr %".90"
  store i64 %".292", ptr %".142"
  %".294" = zext i32 0 to i64
  %".295" = zext i32 4 to i64
  %".296" = mul i64 %".294", %".295"
  %".297" = add i64 %".292", %".296"
  store i32 %".277", ptr %".4"
  store i32 %".276", ptr %".5"
  store i32 %".275", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".277", ptr %".83"
  %".305" = trunc i64 1024 to i32
  %".306" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".307" = shl i32 %".277", %".306"
  %".308" = icmp ult i32 2, 32
  %".309" = select  i1 %".308", i32 %".307", i32 0
  %".310" = add i32 %".305", %".309"
  store i32 %".310", ptr %".90"
  store i64 %".312", ptr %".142"
  %".314" = zext i32 %".277" to i64
  %".315" = zext i32 4 to i64
  %".316" = mul i64 %".314", %".315"
  %".317" = add i64 %".312", %".316"
  %".318" = zext i32 %".277" to i64
  %".319" = icmp uge i32 %".52", 16
  %".320" = zext i32 %".277" to i64
  %".321" = zext i32 0 to i64
  %".322" = sub i64 %".320", %".321"
  %".323" = mul i64 %".318", 1
  %".324" = icmp eq i64 %".322", %".323"
  %".325" = sub i32 %".290", 1024
  %".326" = call i32 @"llvm.fshr.i32"(i32 %".325", i32 %".325", i32 2)
  %".327" = icmp ult i32 %".326", 32
  %".328" = zext i32 %".325" to i64
  %".329" = getelementptr i8, ptr %".108", i64 %".328"
  %".330" = sub i32 %".310", 1024
  %".331" = call i32 @"llvm.fshr.i32"(i32 %".330", i32 %".330", i32 2)
  %".332" = icmp ult i32 %".331", 32
  %".333" = zext i32 %".330" to i64
  %".334" = getelementptr i8, ptr %".108", i64 %".333"
  %".352" = sub i64 %".297", %".351"
  %".353" = call i64 @"llvm.fshr.i64"(i64 %".352", i64 %".352", i64 2)
  %".355" = icmp ult i64 %".353", %".354"
  %".356" = getelementptr i8, ptr %".347", i64 %".352"
  %".357" = sub i64 %".317", %".351"
  %".358" = call i64 @"llvm.fshr.i64"(i64 %".357", i64 %".357", i64 2)
  %".359" = icmp ult i64 %".358", %".354"
  %".360" = getelementptr i8, ptr %".347", i64 %".357"
  %".361" = and i1 1, %".319"
  %".362" = and i1 %".361", %".324"
  %".363" = and i1 %".362", %".327"
  %".364" = and i1 %".363", %".332"
  %".365" = and i1 %".364", %".355"
  %".366" = and i1 %".365", %".359"
  br i1 %".366", label %"proven_row.1", label %"checked_row.1"
row_done.1:
  %".492" = load i32, ptr %".269"
  %".493" = add i32 %".492", 1
  store i32 %".493", ptr %".269"
  %".495" = icmp ult i32 %".493", %".54"
  br i1 %".495", label %"tid_y.1", label %"tid_y_done.1"
proven_row.1:
  %".368" = load i32, ptr %".267"
  %".369" = load i32, ptr %".269"
  %".370" = load i32, ptr %".264"
  store i64 0, ptr %".371"
  store i64 0, ptr %".371"
  br label %"thread.2"
checked_row.1:
  %".420" = load i32, ptr %".267"
  %".421" = load i32, ptr %".269"
  %".422" = load i32, ptr %".264"
  store i64 0, ptr %".423"
  store i64 0, ptr %".423"
  br label %"thread.3"
thread.2:
  %".375" = load i64, ptr %".371"
  %".376" = zext i32 %".52" to i64
  %".377" = trunc i64 %".375" to i32
  %".378" = add nuw nsw i32 %".370", %".377"
  store i32 %".377", ptr %".4"
  store i32 %".369", ptr %".5"
  store i32 %".368", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  %".385" = mul i64 %".375", 4
  %".386" = getelementptr i8, ptr %".329", i64 %".385"
  %".387" = mul i64 %".375", 4
  %".388" = getelementptr i8, ptr %".356", i64 %".387"
  store i32 %".377", ptr %".83"
  %".391" = trunc i64 1024 to i32
  %".392" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".393" = shl i32 %".377", %".392"
  %".394" = icmp ult i32 2, 32
  %".395" = select  i1 %".394", i32 %".393", i32 0
  %".396" = add i32 %".391", %".395"
  store i32 %".396", ptr %".90"
  store i64 %".398", ptr %".142"
  %".400" = load i64, ptr %".13"
  %".401" = add i64 %".400", 6
  store i64 %".401", ptr %".13"
  %".403" = load i32, ptr %".83"
  %".404" = sub i32 31, %".403"
  %".405" = load i32, ptr %".386", align 4
  %".406" = zext i32 %".403" to i64
  %".407" = zext i32 4 to i64
  %".408" = mul i64 %".406", %".407"
  %".409" = load i64, ptr %".142"
  %".410" = add i64 %".409", %".408"
  store i32 %".405", ptr %".388", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.2"
next_thread.2:
  %".414" = add nuw nsw i64 %".375", 1
  store i64 %".414", ptr %".371"
  %".416" = add nuw nsw i32 %".378", 1
  store i32 %".416", ptr %".264"
  %".418" = icmp ult i64 %".414", %".376"
  br i1 %".418", label %"thread.2", label %"row_done.1"
before:
  unreachable
thread.3:
  %".427" = load i64, ptr %".423"
  %".428" = zext i32 %".52" to i64
  %".429" = trunc i64 %".427" to i32
  %".430" = add nuw nsw i32 %".422", %".429"
  store i32 %".429", ptr %".4"
  store i32 %".421", ptr %".5"
  store i32 %".420", ptr %".6"
  store i32 %".44", ptr %".7"
  store i32 %".45", ptr %".8"
  store i32 %".46", ptr %".9"
  store i32 %".429", ptr %".83"
  %".439" = trunc i64 1024 to i32
  %".440" = call i32 @"llvm.umin.i32"(i32 2, i32 31)
  %".441" = shl i32 %".429", %".440"
  %".442" = icmp ult i32 2, 32
  %".443" = select  i1 %".442", i32 %".441", i32 0
  %".444" = add i32 %".439", %".443"
  store i32 %".444", ptr %".90"
  store i64 %".446", ptr %".142"
  %".448" = load i64, ptr %".13"
  %".449" = add i64 %".448", 6
  store i64 %".449", ptr %".13"
  %".451" = load i32, ptr %".83"
  %".452" = sub i32 31, %".451"
  %".453" = load i32, ptr %".90"
  %".454" = sub i32 %".453", 1024
  %".455" = call i32 @"llvm.fshr.i32"(i32 %".454", i32 %".454", i32 2)
  %".456" = icmp ult i32 %".455", 32
  br i1 %".456", label %"fast.1", label %"slow.1", !prof !3
next_thread.3:
  %".486" = add nuw nsw i64 %".427", 1
  store i64 %".486", ptr %".423"
  %".488" = add nuw nsw i32 %".430", 1
  store i32 %".488", ptr %".264"
  %".490" = icmp ult i64 %".486", %".428"
  br i1 %".490", label %"thread.3", label %"row_done.1"
before.1:
  unreachable
fast.1:
  %".458" = zext i32 %".454" to i64
  %".459" = getelementptr i8, ptr %".108", i64 %".458"
  br label %"after.1"
slow.1:
  %".461" = zext i32 %".453" to i64
  %".462" = add i64 %".461", 3565187343784607744
  %".463" = call ptr @"resolve_shared"(ptr %".1", ptr %".11", i64 %".462", i64 4, i64 1)
  %".464" = icmp eq ptr %".463", null
  br i1 %".464", label %"fault", label %"after.1", !prof !4
after.1:
  %".466" = phi  ptr [%".459", %"fast.1"], [%".463", %"slow.1"]
  %".467" = load i32, ptr %".466", align 4
  %".468" = zext i32 %".451" to i64
  %".469" = zext i32 4 to i64
  %".470" = mul i64 %".468", %".469"
  %".471" = load i64, ptr %".142"
  %".472" = add i64 %".471", %".470"
  %".473" = sub i64 %".472", %".351"
  %".474" = call i64 @"llvm.fshr.i64"(i64 %".473", i64 %".473", i64 2)
  %".475" = icmp ult i64 %".474", %".354"
  br i1 %".475", label %"fast.2", label %"slow.2", !prof !3
fast.2:
  %".477" = getelementptr i8, ptr %".347", i64 %".473"
  br label %"after.2"
slow.2:
  %".479" = call ptr @"resolve_global"(ptr %".1", ptr %".11", i64 %".472", i64 4, i64 2)
  %".480" = icmp eq ptr %".479", null
  br i1 %".480", label %"fault", label %"after.2", !prof !4
after.2:
  %".482" = phi  ptr [%".477", %"fast.2"], [%".479", %"slow.2"]
  store i32 %".467", ptr %".482", align 4
  store i32 0, ptr %".59"
  br label %"next_thread.3"
tid_y_done.1:
  %".497" = load i32, ptr %".267"
  %".498" = add i32 %".497", 1
  store i32 %".498", ptr %".267"
  %".500" = icmp ult i32 %".498", %".56"
  br i1 %".500", label %"tid_z.1", label %"tid_z_done.1"
tid_z_done.1:
  br label %"next_block"
next_block.if:
  store i32 0, ptr %".30"
  %".512" = load i32, ptr %".33"
  %".513" = add i32 %".512", 1
  store i32 %".513", ptr %".33"
  %".515" = icmp eq i32 %".513", %".23"
  br i1 %".515", label %"next_block.if.if", label %"next_block.if.endif"
next_block.endif:
  br label %"block"
next_block.if.if:
  store i32 0, ptr %".33"
  %".518" = load i32, ptr %".36"
  %".519" = add i32 %".518", 1
  store i32 %".519", ptr %".36"
  br label %"next_block.if.endif"
next_block.if.endif:
  br label %"next_block.endif"
}
