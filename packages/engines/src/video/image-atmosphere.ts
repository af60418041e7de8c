/**
 * Effects that a prompt adds to an existing image or clip: rain, snow, fog, leaves, fireflies, sparks, stars.
 */
import { hex } from '../image/colour.ts';
import { drawFog } from '../image/layers/weather.ts';
import type { Random } from '@darkroom/seeded-random/random';
import type { Stage } from '../image/stage.ts';
import { paintBox } from './actors.ts';
import type { VideoPromptReading } from './prompt-reading.ts';
import type { VideoSize } from './video-size.ts';
import { brightest } from './light-transition.ts';
import type { Palettes } from './light-transition.ts';
import { layerPart } from './scene-parts.ts';
import type { Part } from './scene-parts.ts';
import { dustPart, fireflyPart, leafPart, rainPart, snowPart, sparkPart } from './weather-parts.ts';

/** The parts to draw over an image of a given size. */
export function imageAtmosphereParts(
  reading: VideoPromptReading,
  palettes: Palettes,
  size: VideoSize,
  random: Random,
): Part[] {
  const { scene } = reading;
  const text = scene.scenery.toLowerCase();
  const scale = Math.sqrt((size.width * size.height) / 1_000_000);
  const palette = brightest(palettes);
  const look = { scale, palette, random: random.fork('air'), weather: scene.weather };
  const says = (words: RegExp): boolean => words.test(text);
  const parts: Part[] = [];
  if (scene.weather.has('fog')) parts.push(...fogParts(size, scale, palettes, random));
  if (scene.weather.has('rain') || scene.weather.has('storm')) parts.push(rainPart(look, 1));
  const isSnowing = scene.weather.has('snow') || (says(/\bsnow(flakes?|s|y)?\b/) && !says(/\bno snow\b/));
  if (isSnowing) parts.push(snowPart(look, 1));
  if (says(/\b(petals?|blossoms?|sakura)\b/)) parts.push(leafPart(look, hex('#f6bccd'), 60, 0.7));
  else if (says(/\b(leaves|leaf|autumn)\b/)) parts.push(leafPart(look, hex('#c9682a'), 50, 1));
  if (says(/\bfire ?fl(y|ies)\b/)) parts.push(fireflyPart(look));
  if (says(/\b(sparks?|embers?|fire|campfire)\b/) && !says(/\bfire ?fl/)) parts.push(sparkPart(look, 60));
  if (says(/\b(dust|pollen|motes?|particles?|dreamy|magic(al)?|sparkl\w*|golden)\b/)) {
    parts.push(dustPart(look, hex('#ffe8b8'), 60));
  }
  return parts;
}

function fogParts(size: VideoSize, scale: number, palettes: Palettes, random: Random): Part[] {
  const [width, height] = [size.width / scale, size.height / scale];
  const palette = { ...brightest(palettes), haze: hex('#dfe4e8') };
  const reach = width * 0.5;
  return [1, -1].map((side) => {
    const stage: Omit<Stage, 'context'> = {
      width: width + reach,
      height,
      scale,
      horizon: height * 0.5,
      palette,
      light: { x: 0, y: 0, body: 'sun', isVisible: false, radius: 1 },
      time: 'morning',
      season: 'autumn',
      weather: new Set(['fog'] as const),
      style: 'natural',
      isFlat: false,
      random: random.fork(`fog ${side}`),
    };
    const fog = paintBox(stage, { left: 0, top: 0, width: width + reach, height }, (layer) => drawFog(layer, 0.85));
    const placed = fog === undefined || side === -1 ? fog : { ...fog, left: fog.left - reach * scale };
    return layerPart(placed, 0.4, { drift: side * 18 * scale });
  });
}
