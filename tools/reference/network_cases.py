"""The small networks: one entry a case, with the arguments of network_golden's clip(), unet() and vae()."""

CLIP = {
    # quick_gelu, as SD 1.x
    "quick_gelu": (dict(vocab_size=3072, hidden_size=64, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=77,
                        hidden_act="quick_gelu", bos_token_id=3070, eos_token_id=3071, pad_token_id=3071, projection_dim=64),),
    # exact gelu, as SD 2.x
    "gelu": (dict(vocab_size=1024, hidden_size=96, intermediate_size=384, num_hidden_layers=3, num_attention_heads=6, max_position_embeddings=77,
                  hidden_act="gelu", bos_token_id=1022, eos_token_id=1023, pad_token_id=0, projection_dim=96),),
}

CROSS, UP, PLAIN_DOWN, PLAIN_UP = "CrossAttnDownBlock2D", "CrossAttnUpBlock2D", "DownBlock2D", "UpBlock2D"
COMMON = dict(in_channels=4, out_channels=4, norm_eps=1e-5, act_fn="silu", flip_sin_to_cos=True, freq_shift=0, downsample_padding=1, mid_block_scale_factor=1)
TINY = dict(COMMON, sample_size=32, block_out_channels=(32, 64, 64), layers_per_block=1, attention_head_dim=4, cross_attention_dim=48, norm_num_groups=16,
            down_block_types=(PLAIN_DOWN, CROSS, CROSS), up_block_types=(UP, UP, PLAIN_UP))
SD1 = dict(COMMON, sample_size=64, block_out_channels=(32, 64, 128, 128), layers_per_block=2, attention_head_dim=8, cross_attention_dim=64,
           norm_num_groups=32, down_block_types=(CROSS, CROSS, CROSS, PLAIN_DOWN), up_block_types=(PLAIN_UP, UP, UP, UP))
SD2 = dict(SD1, attention_head_dim=(2, 4, 8, 8), use_linear_projection=True, cross_attention_dim=96)
SDXL = dict(COMMON, sample_size=128, block_out_channels=(32, 64, 128), layers_per_block=2, attention_head_dim=(2, 4, 8), transformer_layers_per_block=(1, 2, 3),
            use_linear_projection=True, cross_attention_dim=80, norm_num_groups=32, down_block_types=(PLAIN_DOWN, CROSS, CROSS), up_block_types=(UP, UP, PLAIN_UP),
            addition_embed_type="text_time", addition_time_embed_dim=8, projection_class_embeddings_input_dim=72)

# settings, height, width, timesteps (one a picture), context tokens, modules whose first output is kept
UNET = {
    "tiny": (TINY, 12, 20, [946.4210815429688, 17.0], 77, []),
    "tiny_odd": (TINY, 9, 7, [951.0, 1.0], 13, []),
    "sd1": (SD1, 16, 16, [999.0, 250.0], 21, ["time_embedding", "conv_in", "down_blocks.0", "down_blocks.3", "mid_block", "up_blocks.0"]),
    "sd1_odd": (dict(SD1, layers_per_block=1), 13, 10, [0.0, 500.0], 77, []),
    "sd2": (SD2, 16, 8, [901.0, 3.0], 33, ["down_blocks.0.attentions.0"]),
    "inpaint": (dict(TINY, in_channels=9), 8, 12, [400.0, 800.0], 16, []),
    "sdxl": (SDXL, 8, 12, [999.0, 31.0], 29, ["add_embedding"]),
}

DOWN4, UP4 = ("DownEncoderBlock2D",) * 4, ("UpDecoderBlock2D",) * 4
KL = dict(in_channels=3, out_channels=3, latent_channels=4, act_fn="silu", down_block_types=DOWN4, up_block_types=UP4, sample_size=64, scaling_factor=0.18215)

# settings, height, width, pictures
VAE = {
    "groups32": (dict(KL, block_out_channels=(32, 32, 64, 64), layers_per_block=2, norm_num_groups=32), 32, 32, 2),
    "groups16": (dict(KL, block_out_channels=(16, 32, 48, 48), layers_per_block=2, norm_num_groups=16), 40, 24, 2),
    # as Flux and Z-Image: 16 channels, shifted, nothing between the halves and the latents
    "flux": (dict(KL, block_out_channels=(16, 32, 32, 32), layers_per_block=1, norm_num_groups=8, latent_channels=16, scaling_factor=0.3611,
                  shift_factor=0.1159, use_quant_conv=False, use_post_quant_conv=False, force_upcast=True), 24, 32, 1),
    "tiny": (dict(KL, block_out_channels=(32, 64, 96, 96), layers_per_block=1, norm_num_groups=16), 24, 40, 1),
}
