/**
 * The quotations of a prompt, written on a scene: the first large in the sky, the others smaller below it.
 */
import { adjust, hex, lightness, mix } from './colour.ts';
import type { Colour } from './colour.ts';
import { letter, requireLetterable } from './lettering.ts';
import type { Stage } from './stage.ts';

const PAPER_STYLES: ReadonlySet<Stage['style']> = new Set(['ink', 'sketch']);

/** Dark on a light sky, light on a dark one, as ink on paper if the image is drawn on paper. */
function letterColour(stage: Stage): Colour {
  if (PAPER_STYLES.has(stage.style)) return hex('#26241f');
  if (stage.style === 'neon') return hex('#fff4ff');
  const sky = mix(stage.palette.sky[0], stage.palette.sky[1], 0.5);
  return lightness(sky) > 0.72
    ? adjust(mix(stage.palette.land, stage.palette.sky[0], 0.3), -0.22)
    : mix(hex('#ffffff'), stage.palette.rim, 0.18);
}

/** Letters all quotations; nothing if there are none. @throws {UnusableInputError} no letter of one can be drawn. */
export function letterScene(stage: Stage, quotations: readonly string[]): void {
  requireLetterable(quotations);
  const { context, width, height, palette } = stage;
  const colour = letterColour(stage);
  const isLight = lightness(colour) > 0.6;
  let top = height * 0.07;
  for (const [index, text] of quotations.entries()) {
    const isFirst = index === 0;
    const box = { x: width * 0.09, y: top, width: width * 0.82, height: isFirst ? height * 0.28 : height * 0.09 };
    const bottom = letter(context, text, box, {
      weight: isFirst ? 900 : 700,
      colour,
      largest: isFirst ? Math.min(150, width * 0.17) : 40,
      smallest: 15,
      align: 'center',
      anchor: 'top',
      tracking: isFirst ? 0 : 0.06,
      ...(stage.style === 'neon'
        ? { halo: isFirst ? hex('#ff3fb4') : hex('#3ff3ff') }
        : isLight
          ? { shadow: adjust(palette.sky[0], -0.2) }
          : {}),
    });
    if (bottom !== undefined) top = bottom + height * 0.015;
  }
}
