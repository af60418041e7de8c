/**
 * The far part of a scene: the sky with everything in it, and the land on the horizon.
 */
import type { Composition } from './composition.ts';
import { hex } from './colour.ts';
import { drawComets, drawFireworks, drawLightSource, drawPlanet, drawRainbow } from './layers/celestial.ts';
import { drawClouds } from './layers/clouds.ts';
import { drawMesas } from './layers/drylands.ts';
import { drawHills, drawMountains, drawVolcano } from './layers/ridges.ts';
import { drawAurora, drawGalaxy, drawNebula, drawSky, drawStars } from './layers/sky.ts';
import { drawSkyline } from './layers/skyline.ts';
import { drawBelt } from './layers/woods.ts';
import { drawLightning } from './layers/weather.ts';
import type { Thing } from './lexicon.ts';
import type { Stage } from './stage.ts';
import { SUBJECTS } from './subjects.ts';
import { treeColour } from './scene-trees.ts';

/** Everything above the horizon that is not land. */
export function paintSky(stage: Stage, composition: Composition): void {
  const { mentions, weather, absent } = composition;
  drawSky(stage);
  const isStarry = composition.time === 'night' || mentions.has('star') || composition.setting === 'space';
  const isCovered = weather.has('rain') || weather.has('storm') || weather.has('cloudy') || weather.has('fog');
  if (composition.setting === 'space') drawNebula(stage);
  if ((isStarry || composition.time === 'dusk') && !isCovered && !absent.has('star'))
    drawStars(stage, composition.setting === 'space' ? 1.8 : isStarry ? 1 : 0.25);
  if (mentions.has('galaxy') && composition.setting !== 'space') drawGalaxy(stage);
  if (mentions.has('aurora')) drawAurora(stage);
  const body = mentions.get('sun') ?? mentions.get('moon') ?? mentions.get('crescent');
  if (composition.setting !== 'space') drawLightSource(stage, body?.colour);
  const planet = mentions.get('planet');
  if (planet !== undefined || (composition.setting === 'space' && !absent.has('planet'))) {
    const random = stage.random.fork('planets');
    const hues = [hex('#d98a5c'), hex('#6f9fd8'), hex('#c9a2d8'), hex('#8fc3b0')] as const;
    drawPlanet(
      stage,
      { x: stage.width * random.pick([0.3, 0.7]), y: stage.horizon * random.between(0.28, 0.42) },
      random.between(95, 150) * (planet?.scale ?? 1),
      planet?.colour ?? random.pick(hues),
    );
    drawPlanet(
      stage,
      { x: stage.width * random.between(0.1, 0.9), y: stage.horizon * random.between(0.6, 0.8) },
      random.between(16, 30),
      random.pick(hues),
    );
  }
  if (mentions.has('comet')) drawComets(stage, mentions.get('comet')?.count ?? 1);
  if (mentions.has('rainbow')) drawRainbow(stage);
  if (composition.setting !== 'space' && !absent.has('cloud'))
    drawClouds(stage, mentions.get('cloud')?.count ?? 0, mentions.get('cloud')?.colour);
  if (weather.has('storm')) drawLightning(stage);
  if (mentions.has('firework')) drawFireworks(stage, mentions.get('firework')?.count ?? 1);
}

/** Land on the horizon. */
export function paintBackdrop(stage: Stage, composition: Composition): void {
  const { mentions, absent } = composition;
  const { palette, horizon } = stage;
  const has = (thing: Thing): boolean => mentions.has(thing);
  if (has('mountain') || has('waterfall'))
    drawMountains(stage, mentions.get('mountain')?.colour, mentions.get('mountain')?.scale ?? 1);
  if (has('volcano')) drawVolcano(stage, mentions.get('volcano')?.scale ?? 1);
  if (has('canyon')) drawMesas(stage);
  if (has('hill') || has('village')) drawHills(stage, mentions.get('hill')?.colour ?? palette.grass, 3);
  else if (
    composition.setting === 'land' &&
    composition.ground === 'meadow' &&
    !absent.has('hill') &&
    !has('mountain') &&
    !has('city') &&
    !has('volcano')
  )
    drawHills(stage, palette.grass, 2);
  if (has('city')) drawSkyline(stage, mentions.get('city')?.colour, mentions.get('city')?.scale ?? 1);
  const forest = mentions.get('forest');
  const isPine =
    has('pine') ||
    stage.season === 'winter' ||
    (forest !== undefined && stage.random.fork('kind').chance(0.5) && stage.season !== 'autumn');
  const kind = isPine ? 'conifer' : 'broadleaf';
  const leaf = treeColour(stage, isPine ? 'pine' : 'tree', forest?.colour);
  if (forest !== undefined) {
    for (const [index, belt] of [
      { size: 120, depth: 0.82 },
      { size: 165, depth: 0.58 },
      { size: 215, depth: 0.34 },
    ].entries()) {
      drawBelt(stage, {
        yAt: () => horizon + index * 7,
        size: belt.size,
        depth: belt.depth,
        kind,
        colour: leaf,
        name: `forest ${index}`,
        density: 0,
      });
    }
  } else if (
    composition.setting !== 'space' &&
    !has('city') &&
    !has('desert') &&
    !has('canyon') &&
    composition.water === 'lake' &&
    !absent.has('tree') &&
    (has('mountain') || has('lake') || has('pine'))
  ) {
    drawBelt(stage, {
      yAt: () => horizon + 2,
      size: 42,
      depth: 0.45,
      kind,
      colour: leaf,
      name: 'shore',
      density: 0.35,
    });
  }
  const random = stage.random.fork('village');
  const village = mentions.get('village');
  const house = SUBJECTS.house;
  if (village === undefined || house === undefined) return;
  for (let index = 0; index < 11; index++) {
    const x = stage.width * (0.2 + 0.6 * random.next());
    house.draw(stage, { x, y: horizon + 2 + random.between(0, 14) }, random.between(30, 46), {
      colour: undefined,
      depth: 0.4,
      facing: 1,
      random: random.fork(`house ${index}`),
    });
  }
  SUBJECTS.church?.draw(stage, { x: stage.width * 0.5, y: horizon + 4 }, 96, {
    colour: undefined,
    depth: 0.42,
    facing: 1,
    random,
  });
}
