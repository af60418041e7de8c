/**
 * Paints a world: the layers of a scene from far to near, and the parts that move in it. Still scenes are painted by
 * the image engine; this module defines how near each of its layers is, and how each moves.
 */
import { adjust, mix } from '../image/colour.ts';
import type { Composition } from '../image/composition.ts';
import { drawDunes } from '../image/layers/drylands.ts';
import { drawEdgeGrass } from '../image/layers/flora.ts';
import { drawSurface, drawWay, makeSurface } from '../image/layers/ground.ts';
import { drawWaterfall } from '../image/layers/water.ts';
import { drawFog } from '../image/layers/weather.ts';
import { drawFramingTrunks } from '../image/layers/woods.ts';
import type { Thing } from '../image/lexicon.ts';
import { placeInArea, placeOnGround, Room } from '../image/placement.ts';
import type { Placed, PlacingGround } from '../image/placement.ts';
import { paintBackdrop } from '../image/scene-backdrop.ts';
import { castOf, makeGrounds, paintGround } from '../image/scene-painting.ts';
import type { Cast, Grounds } from '../image/scene-painting.ts';
import { paintTrees, TREE_KINDS } from '../image/scene-trees.ts';
import type { Stage } from '../image/stage.ts';
import { actorPart } from './actors.ts';
import { MARGIN } from './camera.ts';
import { LayerPainter } from './layer-painter.ts';
import { beamPart, windowPart } from './light-parts.ts';
import { layerPart } from './scene-parts.ts';
import type { Part } from './scene-parts.ts';
import { skyParts } from './sky-parts.ts';
import { waterParts } from './water-parts.ts';
import { airParts } from './weather-parts.ts';
import { underseaParts } from './undersea-parts.ts';
import type { WorldStage } from './world-stage.ts';

/** How near each layer is: 0 for the sky, 0.2 at the horizon, 1 close by. */
const NEAR = { ranges: 0.2, backdrop: 0.27, far: 0.3, middle: 0.48, close: 1, front: 1.45 } as const;

/** The tallest reed at the lower edge of an image, in logical units. */
const GRASS_HEIGHT = 360;

const RANGES: readonly Thing[] = ['mountain', 'volcano', 'canyon', 'waterfall'];
const BEFORE_RANGES: readonly Thing[] = ['hill', 'village', 'city', 'forest'];

/** The same scene without some things. */
function lacking(composition: Composition, things: readonly Thing[]): Composition {
  const mentions = new Map([...composition.mentions].filter(([thing]) => !things.includes(thing)));
  return { ...composition, mentions, absent: new Set([...composition.absent, ...things]) };
}

/** A painted world. */
interface PaintedWorld {
  /** From far to near. */
  readonly parts: readonly Part[];
  /** The position of the thing that the prompt names first: pixels from the left; undefined if it names none. */
  readonly hero: number | undefined;
}

/** Paints a world. @param seconds length of its shot: how far clouds drift. */
export function paintWorld(world: WorldStage, seconds: number): PaintedWorld {
  const cast: Placed[] = [];
  const parts = partsOf(world, seconds, cast);
  const [first] = [...world.composition.mentions.keys()].flatMap((thing) =>
    cast.filter((placed) => placed.thing === thing),
  );
  return { parts, hero: first === undefined ? undefined : first.position.x * world.stage.scale };
}

/** @param placed receives all single things. */
function partsOf(world: WorldStage, seconds: number, placed: Placed[]): readonly Part[] {
  const painter = new LayerPainter(world.stage);
  if (world.composition.setting === 'undersea') return underseaParts(painter, world, placed);
  const { composition } = world;
  const cast = castOf(composition);
  // Laid out for the part that is in the frame at rest; the ground continues below it.
  const margin = (painter.stage.height * MARGIN.bottom) / (1 + MARGIN.top + MARGIN.bottom);
  const inFrame = { ...painter.stage, height: painter.stage.height - margin };
  const grounds = groundsInView(painter.stage, makeGrounds(inFrame, composition, cast));
  const sky = skyParts(painter, world, seconds);
  const backdrop = backdropParts(painter, world);
  return [
    ...sky.still,
    ...sky.bright,
    ...sky.clouds,
    ...backdrop,
    ...aloftParts(painter, cast, (thing) => thing !== 'butterfly', placed),
    // Water mirrors only things that do not move: moving ones would be mirrored at their old positions.
    ...landParts(painter, world, { cast, grounds, placed }, [...sky.still, ...sky.clouds, ...backdrop]),
    ...fogParts(painter, composition),
    ...closeParts(painter, composition, { cast, grounds, placed }),
    ...aloftParts(painter, cast, (thing) => thing === 'butterfly', placed),
    ...frontParts(painter, composition, grounds),
    ...airParts(painter.stage, world),
  ];
}

/** The grounds with space for things only where the camera sees them. */
function groundsInView(stage: Stage, grounds: Grounds): Grounds {
  const edge = stage.width * (MARGIN.side / (1 + 2 * MARGIN.side) + 0.02);
  const inset = (ground: PlacingGround | undefined): PlacingGround | undefined => {
    if (ground === undefined) return undefined;
    const { left, right } = ground.surface;
    const surface = { ...ground.surface, left: Math.max(left, edge), right: Math.min(right, stage.width - edge) };
    return surface.left < surface.right ? { ...ground, surface } : ground;
  };
  return { middle: inset(grounds.middle), near: inset(grounds.near) };
}

function backdropParts(painter: LayerPainter, world: WorldStage): Part[] {
  const { composition } = world;
  const { mentions } = composition;
  const has = (things: readonly Thing[]): boolean => things.some((thing) => mentions.has(thing));
  const cut = { bottom: painter.stage.horizon + 26 };
  const layer = (scene: Composition, nearness: number): Part[] => {
    const image = painter.paint((stage) => paintBackdrop(stage, scene), cut);
    const hasWindows = scene.mentions.has('city') && image !== undefined;
    return [layerPart(image, nearness), ...(hasWindows ? [windowPart(world, image, nearness)] : [])];
  };
  if (!has(RANGES) || !has(BEFORE_RANGES)) return layer(composition, NEAR.ranges);
  const withoutHills = mentions.has('hill') || mentions.has('village') ? [] : (['hill'] as const);
  return [
    ...layer(lacking(composition, [...BEFORE_RANGES, 'pine', 'tree', 'lake']), NEAR.ranges),
    ...layer(lacking(composition, [...RANGES, ...withoutHills]), NEAR.backdrop),
  ];
}

/** The things of the scene, the grounds they can stand on, and the things that have a position. */
interface Standing {
  readonly cast: Cast;
  readonly grounds: Grounds;
  readonly placed: Placed[];
}

/** Everything that flies. */
function aloftParts(painter: LayerPainter, cast: Cast, isWanted: (thing: Thing) => boolean, placed: Placed[]): Part[] {
  const { stage } = painter;
  const { width, horizon } = stage;
  const room = new Room();
  const random = stage.random.fork('aloft');
  const air = { left: width * 0.13, right: width * 0.87, top: horizon * 0.28, bottom: horizon * 0.74 };
  const things = cast.aloft
    .flatMap((entry) => placeInArea(entry, air, room, { random, isWater: false }))
    .filter(({ thing }) => isWanted(thing))
    .toSorted((first, second) => first.size - second.size);
  placed.push(...things);
  return things.map((thing) => actorPart(stage, thing, 0.3 + (1 - thing.look.depth) * 0.5));
}

/** The land or the water between the horizon and the nearest ground, with everything that stands and floats there. */
function landParts(
  painter: LayerPainter,
  world: WorldStage,
  { cast, grounds, placed }: Standing,
  behind: readonly Part[],
): Part[] {
  const { composition } = world;
  const { mentions, setting } = composition;
  const { stage } = painter;
  const { width, height, horizon } = stage;
  const random = stage.random.fork('placing');
  const parts: Part[] = [];
  if (composition.ground === 'sand' && setting === 'land') {
    parts.push(
      layerPart(
        painter.paint((layer) => drawDunes(layer, height)),
        NEAR.far,
      ),
    );
  } else if (setting === 'land') {
    const far = makeSurface(stage, 'far', { y: horizon + 3, swing: 5, depth: 0.62, scale: 0.4 });
    const cut = { bottom: horizon + (height - horizon) * 0.42 };
    parts.push(
      layerPart(
        painter.paint((layer) => drawSurface(layer, far, composition.ground), cut),
        NEAR.far,
      ),
    );
  }
  const { middle, near } = grounds;
  if (middle !== undefined) {
    const things = cast.middle.flatMap((entry) => placeOnGround(entry, middle, horizon * 0.82, random));
    placed.push(...things);
    const cut = setting === 'land' ? { bottom: horizon + (height - horizon) * 0.85 } : { bottom: horizon + 30 };
    const [still, moving] = [things.filter((thing) => !isMoving(thing)), things.filter(isMoving)];
    parts.push(
      layerPart(
        painter.paint((layer) => paintGround(layer, composition, middle, still), cut),
        NEAR.middle,
      ),
      ...moving.map((thing) => actorPart(stage, thing, NEAR.middle)),
      ...still.filter(({ thing }) => thing === 'lighthouse').map((thing) => beamPart(world, thing, NEAR.middle)),
    );
  }
  if (setting === 'water') parts.push(...waterParts(painter, world, [...behind, ...parts]));
  if (mentions.has('waterfall')) {
    const fall = painter.paint((layer) =>
      drawWaterfall(layer, { x: width * 0.52, y: horizon * 0.62 }, horizon + 16, 46),
    );
    parts.push(layerPart(fall, NEAR.ranges));
  }
  if (near !== undefined) parts.push(...wayParts(painter, composition, near));
  for (const { mention, subject } of cast.across) {
    const y = setting === 'water' ? horizon + (height - horizon) * 0.3 : (near?.surface.yAt(width / 2) ?? height * 0.8);
    const look = { colour: mention.colour, depth: 0.15, facing: 1, random } as const;
    const layer = painter.paint((across) => subject.draw(across, { x: 0, y }, subject.height * mention.scale, look));
    parts.push(layerPart(layer, NEAR.middle));
  }
  const bottom = horizon + (height - horizon) * (near === undefined ? 0.74 : 0.56);
  const area = { left: width * 0.16, right: width * 0.84, top: horizon + (height - horizon) * 0.1, bottom };
  const afloat = cast.afloat
    .flatMap((entry) => placeInArea(entry, area, new Room(), { random, isWater: true }))
    .toSorted((first, second) => first.position.y - second.position.y);
  placed.push(...afloat);
  for (const thing of afloat) {
    const share = (thing.position.y - horizon) / (height - horizon);
    parts.push(actorPart(stage, thing, NEAR.ranges + share * (NEAR.close - NEAR.ranges)));
  }
  return parts;
}

/** A road or a river, on the ground that it runs through. */
function wayParts(painter: LayerPainter, composition: Composition, near: PlacingGround): Part[] {
  const { mentions, setting, ground } = composition;
  const { width, horizon, random } = painter.stage;
  const kinds = (['river', 'road'] as const).filter((kind) => mentions.has(kind));
  if (setting !== 'land' || kinds.length === 0) return [];
  const start = width * random.fork('way').between(0.42, 0.58);
  return [
    layerPart(
      painter.paint((layer) => drawSurface(layer, near.surface, ground)),
      NEAR.middle,
    ),
    layerPart(
      painter.paint((layer) => {
        for (const kind of kinds) drawWay(layer, kind, horizon + 6, start);
      }),
      NEAR.middle,
    ),
  ];
}

function fogParts(painter: LayerPainter, composition: Composition): Part[] {
  if (!composition.weather.has('fog')) return [];
  const fog = (name: string): ReturnType<LayerPainter['paint']> =>
    painter.paint((stage) => drawFog({ ...stage, random: stage.random.fork(name) }, 0.8));
  return [layerPart(fog('veil'), 0.4, { drift: 9 }), layerPart(fog('bank'), 0.6, { drift: -14 })];
}

/** The nearest ground, its trees, and everything that stands on it. */
function closeParts(painter: LayerPainter, composition: Composition, { cast, grounds, placed }: Standing): Part[] {
  const { near } = grounds;
  if (near === undefined) return [];
  const { stage } = painter;
  const chance = stage.random.fork('standing');
  const things = cast.near.flatMap((entry) => placeOnGround(entry, near, stage.height * 0.75, chance));
  placed.push(...things);
  const bare = lacking(composition, TREE_KINDS);
  // Flowers exceed the ground by less than this.
  const brow = Math.min(...[0, 0.2, 0.4, 0.6, 0.8, 1].map((share) => near.surface.yAt(stage.width * share))) - 110;
  const hasWay =
    composition.setting === 'land' && (composition.mentions.has('river') || composition.mentions.has('road'));
  return [
    layerPart(
      painter.paint((layer) => paintGround(layer, bare, near, []), { top: brow }),
      hasWay ? NEAR.middle : NEAR.close,
    ),
    layerPart(
      painter.paint((layer) => paintTrees(layer, composition, near)),
      NEAR.close,
      { sway: 2.6 * stage.scale },
    ),
    ...things
      .toSorted((first, second) => first.position.y - second.position.y)
      .map((thing) => actorPart(stage, thing, hasWay ? 0.7 : NEAR.close, near.surface)),
  ];
}

/** Everything that hangs in the foreground. */
function frontParts(painter: LayerPainter, composition: Composition, grounds: Grounds): Part[] {
  const { mentions, absent, ground, setting } = composition;
  const { stage } = painter;
  const { palette } = stage;
  const parts: Part[] = [];
  if (mentions.has('forest') && setting === 'land' && !stage.isFlat) {
    const bark = adjust(mix(palette.land, palette.foliage, 0.25), -0.12);
    parts.push(
      layerPart(
        painter.paint((layer) => drawFramingTrunks(layer, bark)),
        NEAR.front,
      ),
    );
  }
  const isGrassy = ground === 'meadow' || ground === 'forest';
  if (grounds.near !== undefined && !stage.isFlat && isGrassy && !absent.has('field')) {
    const blade = adjust(mix(palette.foliage, palette.land, 0.4), -0.06);
    const kind = setting === 'water' ? 'reeds' : 'grass';
    const grass = painter.paint((layer) => drawEdgeGrass(layer, blade, kind), { top: stage.height - GRASS_HEIGHT });
    parts.push(layerPart(grass, NEAR.front, { sway: 7 * stage.scale }));
  }
  return parts;
}

/** Whether a thing drives through the image. */
function isMoving({ thing }: Placed): boolean {
  return thing === 'train' || thing === 'car';
}
