/**
 * Text over a video: the quoted texts of the prompt, one after the other, and the watermark if one is requested.
 */
import { createCanvas } from '@napi-rs/canvas';
import { css, hex } from '../image/colour.ts';
import { fontOf } from '../image/fonts.ts';
import type { PromptReading } from '../image/prompt-reading.ts';
import { letterScene } from '../image/scene-lettering.ts';
import type { Stage } from '../image/stage.ts';
import { paintBox } from './actors.ts';
import type { PlanningContext } from './video-plan.ts';
import type { VideoRequest } from './video-request.ts';
import type { VideoSize } from './video-size.ts';
import { pixelsOf, trimmed } from './raster/bitmap.ts';
import { draw } from './raster/drawing.ts';
import type { Overlay } from './shot.ts';
import { stageWorld } from './world-stage.ts';

const FADE_SECONDS = 0.6;
/** A title disappears before the video ends, so that the last frame is an image without text. */
const REST_SECONDS = 0.45;
/** No title needs more time to be read. */
const LONGEST_SECONDS = 6;

/**
 * All overlays of a video: its titles, and its watermark if the request wants one.
 *
 * @param stageOf makes the stage that the titles' colours are taken from; only called if there are titles.
 */
export function createOverlays(
  { seconds, hasWatermark }: VideoRequest,
  { quotations }: PromptReading,
  size: VideoSize,
  stageOf: () => Omit<Stage, 'context'>,
): Overlay[] {
  const titles = quotations.length === 0 ? [] : titleOverlays(quotations, stageOf(), size, seconds);
  return hasWatermark ? [...titles, watermarkOverlay(size)] : titles;
}

/** The same over the caller's own media, which have no world of their own: one is staged for the titles alone. */
export function createInputOverlays(
  { request, random }: PlanningContext,
  reading: PromptReading,
  size: VideoSize,
): Overlay[] {
  const framing = { name: 'titles', size: 1, horizon: 0 };
  return createOverlays(
    request,
    reading,
    size,
    () => stageWorld(reading, { size, framing, light: undefined, random }).stage,
  );
}

/** The titles of a video of a given length. @param stage the source of their colours. */
function titleOverlays(
  quotations: readonly string[],
  stage: Omit<Stage, 'context'>,
  size: VideoSize,
  seconds: number,
): Overlay[] {
  const scale = Math.sqrt((size.width * size.height) / 1_000_000);
  const screen = { ...stage, width: size.width / scale, height: size.height / scale, scale };
  const box = { left: 0, top: 0, width: screen.width, height: screen.height };
  const each = (seconds - REST_SECONDS) / Math.max(1, quotations.length);
  return quotations.flatMap((text, index): Overlay[] => {
    const title = paintBox(screen, box, (layer) => letterScene(layer, [text]));
    if (title === undefined) return [];
    const from = index * each + Math.min(0.35, each * 0.1);
    const to = Math.min(index * each + each, from + LONGEST_SECONDS);
    const fade = Math.min(FADE_SECONDS, (to - from) / 3);
    return [
      (frame, at) => {
        const shown = Math.min((at - from) / fade, (to - at) / fade, 1);
        if (shown <= 0) return;
        // Grows a little while it is shown, around its middle.
        const grown = 1 + 0.025 * ((at - from) / (to - from));
        draw(frame, title.bitmap, {
          x: title.left - (title.bitmap.width * (grown - 1)) / 2,
          y: title.top - (title.bitmap.height * (grown - 1)) / 2,
          scale: grown,
          strength: shown * shown * (3 - 2 * shown),
        });
      },
    ];
  });
}

const MARK = 'Darkroom';

/** A small watermark in the lower right corner. */
function watermarkOverlay(size: VideoSize): Overlay {
  const letters = Math.max(10, Math.round(Math.min(size.width, size.height) * 0.032));
  const canvas = createCanvas(letters * 7, letters * 2);
  const context = canvas.getContext('2d');
  context.font = fontOf(700, letters);
  context.textAlign = 'right';
  context.textBaseline = 'alphabetic';
  for (const [offset, colour] of [
    [Math.max(1, letters * 0.07), css(hex('#000000'), 0.45)],
    [0, css(hex('#ffffff'), 0.72)],
  ] as const) {
    context.fillStyle = colour;
    context.fillText(MARK, canvas.width - letters * 0.4 + offset, letters * 1.35 + offset);
  }
  const mark = trimmed(pixelsOf(canvas), canvas.width, canvas.height);
  const margin = Math.round(letters * 0.8);
  return (frame) => {
    if (mark === undefined) return;
    const { width, height } = mark.bitmap;
    draw(frame, mark.bitmap, { x: frame.width - width - margin, y: frame.height - height - margin });
  };
}
