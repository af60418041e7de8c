/**
 * Plans a video that is cut from the caller's clips: they alternate, each continuing where it stopped, with the
 * caller's images between them, all in the look of the prompt, over the caller's audio.
 */
import { framesWithField, readClip, readImage, readAudio } from './input-media.ts';
import { createPlan } from './video-plan.ts';
import type { VideoPlan, PlanningContext } from './video-plan.ts';
import type { VideoSize } from './video-size.ts';
import { createLook } from './look.ts';
import { openClipShot } from './clip-shot.ts';
import { openImageShot } from './image-shot.ts';
import { grade } from './raster/blending.ts';
import type { Shot } from './shot.ts';
import { createInputOverlays } from './titles.ts';
import { stageWorld } from './world-stage.ts';
import type { Move } from './camera.ts';

/** How long a piece of a clip is, and how one changes to the next. */
const PACES = {
  quick: { seconds: 0.9, dissolveSeconds: 0 },
  usual: { seconds: 1.8, dissolveSeconds: 0 },
  slow: { seconds: 3, dissolveSeconds: 0.9 },
  none: { seconds: 3, dissolveSeconds: 0.9 },
} as const;
/** An image follows after this many pieces of clips. */
const PIECES_PER_IMAGE = 2;
const INSERT_MOVES: readonly [Move, ...Move[]] = ['push', 'left', 'right', 'pull'];

/** A piece of the video before its time is known. */
interface Piece {
  readonly kind: 'clip' | 'image';
  readonly field: string;
}

/** Which clip or image each piece shows: each one from the input appears at least once if there is time. */
function planPieces(clips: readonly string[], images: readonly string[], count: number): readonly Piece[] {
  const list: Piece[] = [];
  let [clip, image] = [0, 0];
  while (list.length < count) {
    const left = count - list.length;
    const isDue = list.length % (PIECES_PER_IMAGE + 1) === PIECES_PER_IMAGE || left <= images.length - image;
    const insert = images[image];
    if (insert !== undefined && isDue && list.length > 0) {
      list.push({ kind: 'image', field: insert });
      image += 1;
    } else {
      list.push({ kind: 'clip', field: clips[clip % clips.length] ?? '' });
      clip += 1;
    }
  }
  return list;
}

/** The duration of each clip; also fails early if one cannot be read. @throws {UndecodableMediaError} */
async function readDurations(
  { media, request }: PlanningContext,
  size: VideoSize,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const field of request.clips) {
    const clip = await readClip(media, field, { ...size, fps: request.fps, startSeconds: 0, maxFrames: 1 });
    const frames = framesWithField(field, clip);
    await frames.next();
    await frames.return();
    found.set(field, clip.durationSeconds);
  }
  return found;
}

/** Cuts the caller's clips and images together, over the caller's audio. */
export async function planBlend(context: PlanningContext): Promise<VideoPlan> {
  const { request, media, random, sizeFor } = context;
  const { reading, seconds, fps, clips, inserts, track } = request;
  const size = sizeFor();
  const lengths = await readDurations(context, size);
  const look = createLook(reading.scene.scenery, reading.scene.colours);
  const pace = PACES[reading.cutting];
  const least = clips.length + inserts.length;
  const count = Math.max(1, Math.min(Math.floor(seconds * 2), Math.max(least, Math.round(seconds / pace.seconds))));
  // Cuts are evenly spaced, on whole frames.
  const beat = seconds / count;
  const used = new Map<string, number>();
  const shots: Shot[] = [];
  for (const [index, piece] of planPieces(clips, inserts, count).entries()) {
    const from = Math.round(index * beat * fps) / fps;
    const to = index === count - 1 ? seconds : Math.round((index + 1) * beat * fps) / fps;
    const dissolveSeconds = index === 0 ? 0 : Math.min(pace.dissolveSeconds, beat * 0.5);
    const shown = to - from + pace.dissolveSeconds;
    if (piece.kind === 'image') {
      const image = await readImage(media, piece.field);
      const move = random.fork(piece.field).pick(INSERT_MOVES);
      const stage = stageWorld(reading.scene, {
        size,
        framing: { name: 'look', size: 1, horizon: 0 },
        light: undefined,
        random,
      });
      shots.push({
        from,
        to,
        dissolveSeconds,
        async open() {
          const painter = await openImageShot(
            {
              image,
              reading,
              move,
              seconds: shown,
              random: random.fork(piece.field),
              hasLightSweep: false,
              palettes: [stage.palettes[0], stage.palettes[0], stage.palettes[0]],
              strength: 0.8,
            },
            size,
          );
          return {
            async paint(frame, time) {
              await painter.paint(frame, time);
              grade(frame, look);
            },
          };
        },
      });
      continue;
    }
    const length = lengths.get(piece.field) ?? 0;
    const before = used.get(piece.field) ?? 0;
    // If less than half a piece is left, the clip begins again.
    const startSeconds = length > 0 && before > length - shown / 2 ? 0 : before;
    used.set(piece.field, startSeconds + (to - from));
    const plan = { field: piece.field, startSeconds, maxFrames: Math.ceil(shown * fps) + 2, look };
    shots.push({ from, to, dissolveSeconds, open: () => openClipShot(media, plan, size, fps) });
  }
  return createPlan(request, {
    size,
    shots,
    overlays: createInputOverlays(context, reading.scene, size),
    audio:
      track === undefined ? undefined : { kind: 'given', seconds, audio: await readAudio(media, track, seconds + 1) },
  });
}
