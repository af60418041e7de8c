/**
 * The parameters of the video engine, each field read once (spec §2.5; models/*.json define which model takes which).
 * The kind of video follows from the files in the input.
 */
import { UndecodableMediaError } from '../engine.ts';
import type { EngineInput, EngineMedia } from '../engine.ts';
import { readNegation, without } from '../image/negative-prompt.ts';
import { fieldPathsOf } from './input-media.ts';
import { readVideoPrompt } from './prompt-reading.ts';
import type { VideoPromptReading } from './prompt-reading.ts';

export interface VideoRequest {
  readonly reading: VideoPromptReading;
  readonly seconds: number;
  readonly fps: number;
  readonly isDraft: boolean;
  readonly hasAudio: boolean;
  readonly hasWatermark: boolean;
  /** `prompt_extend`: adds details to a short prompt. */
  readonly isExtended: boolean;
  /** `prompt_optimizer`: adds a suitable camera move. */
  readonly isOptimized: boolean;
  /** The image that the video begins with. */
  readonly firstImage: string | undefined;
  /** The clip whose last frame the video begins with. */
  readonly startVideo: string | undefined;
  /** The clips that the video is cut from; empty for all other kinds. */
  readonly clips: readonly string[];
  readonly inserts: readonly string[];
  readonly track: string | undefined;
}

const FPS = 24;
const DRAFT_FPS = 12;
const DEFAULT_SECONDS = 5;
/** No model takes more. */
const LONGEST_SECONDS = 60;

function secondsOf(value: unknown): number {
  const seconds = typeof value === 'string' ? Number(value) : value;
  return typeof seconds === 'number' && seconds > 0 ? Math.min(seconds, LONGEST_SECONDS) : DEFAULT_SECONDS;
}

/** Reads an input. @throws {UndecodableMediaError} a list of files that cannot be empty is empty. */
export function readVideoRequest(input: EngineInput, media: EngineMedia): VideoRequest {
  const text = (name: string): string => (typeof input[name] === 'string' ? input[name] : '');
  const reading = readVideoPrompt(text('prompt'));
  const negative = text('negative_prompt');
  const clips = fieldPathsOf(media, 'reference_video_urls');
  if (input['reference_video_urls'] !== undefined && clips.length === 0) {
    throw new UndecodableMediaError('reference_video_urls.0: missing', {
      kind: 'missing',
      field: 'reference_video_urls.0',
    });
  }
  const isDraft = input['draft'] === true;
  return {
    reading: negative === '' ? reading : withoutNamed(reading, negative),
    seconds: secondsOf(input['duration']),
    fps: isDraft ? DRAFT_FPS : FPS,
    isDraft,
    hasAudio: input['generate_audio'] === true,
    hasWatermark: input['watermark'] === true,
    isExtended: input['prompt_extend'] === true,
    isOptimized: input['prompt_optimizer'] === true,
    firstImage: media.has('image_url') ? 'image_url' : fieldPathsOf(media, 'image_urls')[0],
    startVideo: media.has('start_video') ? 'start_video' : undefined,
    clips,
    inserts: fieldPathsOf(media, 'reference_image_urls'),
    track: fieldPathsOf(media, 'reference_audio_urls')[0],
  };
}

/** The reading without what a `negative_prompt` names: things, weather, lettering, and moves of the camera. */
function withoutNamed(reading: VideoPromptReading, negative: string): VideoPromptReading {
  const unwanted = readVideoPrompt(negative);
  const moves = reading.moves.filter((move) => !unwanted.moves.includes(move));
  const isStill = /\b(camera (move(ment)?s?|motion)|motion)\b/i.test(negative);
  return {
    ...reading,
    scene: without(reading.scene, readNegation(negative)),
    moves: isStill ? ['still'] : moves,
    cutting: /\b(cuts?|cutting|dissolves?)\b/i.test(negative) ? 'none' : reading.cutting,
  };
}
