/** The tokens of a picture at OpenAI: 85, and 170 for each tile of 512 by 512 pixels. https://platform.openai.com/docs/guides/images-vision */
import type { PictureSize } from './prompt-shape.ts';

/** Fitted into 2048 by 2048 pixels, then to a shorter side of 768, as in high detail. */
export function openaiPictureTokens({ width, height }: PictureSize): number {
  const fitted = Math.min(1, 2048 / Math.max(width, height));
  const scale = Math.min(fitted, 768 / Math.min(width, height));
  const tiles = Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
  return 85 + 170 * tiles;
}
