/**
 * Chooses the finish of a style over the painted pixels. Each modifies the canvas in place; all work at any resolution,
 * in the logical units of the stage.
 */
import { ink, sketch } from './finish/drawing.ts';
import { glass, lowPoly, pixelArt } from './finish/facets.ts';
import { film, grain } from './finish/film.ts';
import { oil, watercolour } from './finish/painting.ts';
import type { Stage } from './stage.ts';

/** Gives the image the finish of its style. */
export function applyFinish(stage: Stage): void {
  switch (stage.style) {
    case 'watercolour':
      return watercolour(stage);
    case 'oil':
      return oil(stage);
    case 'ink':
      return ink(stage);
    case 'sketch':
      return sketch(stage);
    case 'pixel':
      return pixelArt(stage);
    case 'low-poly':
      return lowPoly(stage);
    case 'glass':
      return glass(stage);
    case 'vintage':
    case 'noir':
      return film(stage, stage.style);
    case 'minimal':
      return undefined;
    default:
      return grain(stage, stage.style === 'pastel' ? 4 : 5);
  }
}
