"""A small kernel in PTX, with a constant variable and parameters of three sizes."""

PTX = """.version 8.0
.target sm_90
.address_size 64
.const .align 4 .b8 d_filter[68];
.visible .entry k(.param .u64 k_0, .param .u32 k_1, .param .align 8 .b8 k_2[24])
{
	.reg .b64 %rd<3>;
	.reg .b32 %r<2>;
	ld.param.u64 %rd1, [k_0];
	ld.param.u32 %r1, [k_1];
	cvta.to.global.u64 %rd2, %rd1;
	st.global.u32 [%rd2], %r1;
	ret;
}
"""
