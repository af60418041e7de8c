/**
 * The engine `speech`: a text read aloud by one of four voices, passage by passage, so that minutes of speech take the
 * memory of seconds, as a file of the requested format and rate.
 *
 * Input: `text` and `voice`; `format` mp3, wav, flac, opus or aac (mp3); `sample_rate` in Hz (24000); `pitch` -12 to 12
 * semitones (0); `speed` 0.5 to 2 (1); `volume` 0.1 to 2 (1). The voices contain nothing above 8 kHz; a lower rate
 * contains less and a higher one no more. Opus has fewer rates: the next higher one contains the same sound.
 */
import path from 'node:path';
import { inputFault } from '@darkroom/api/facts/input-fault';
import { writeAudio } from '@darkroom/media/encode';
import { UnusableInputError } from '../unusable-input-error.ts';
import type { EngineInput, EngineWork, RenderedFile } from '../engine.ts';
import { passagesOf } from './passages.ts';
import type { Passage } from './passages.ts';
import { polished } from './polish.ts';
import { speakableText } from './speakable-text.ts';
import { speak } from './speaking.ts';
import { VOICE_NAMES, VOICE_SAMPLE_RATE, isVoiceName, voiceOf } from './voices.ts';
import type { VoiceName } from './voices.ts';

const FORMATS = ['mp3', 'wav', 'flac', 'opus', 'aac'] as const;
type Format = (typeof FORMATS)[number];

/** Opus itself plays at 48 kHz; one of these rates states the bandwidth of a sound. */
const OPUS_RATES = [8000, 12_000, 16_000, 24_000, 48_000];
const DEFAULT_SAMPLE_RATE = 24_000;
const LEAD_IN_SECONDS = 0.1;
const LEAD_OUT_SECONDS = 0.2;

/** The parameters of a speech, with the defaults filled in. */
interface SpeechRequest {
  readonly passages: readonly Passage[];
  readonly voice: VoiceName;
  readonly format: Format;
  readonly sampleRate: number;
  readonly pitch: number;
  readonly speed: number;
  readonly volume: number;
}

function numberOf(value: unknown, lowest: number, highest: number, otherwise: number): number {
  return typeof value === 'number' && Number.isFinite(value) ? Math.min(Math.max(value, lowest), highest) : otherwise;
}

/** @throws {UnusableInputError} no part of the text can be spoken. */
function readSpeechRequest(input: EngineInput): SpeechRequest {
  const { text, voice, format } = input;
  const passages = passagesOf(speakableText(typeof text === 'string' ? text : ''));
  if (passages.length === 0) {
    const fault = inputFault('unusable_text', 'text');
    throw new UnusableInputError('text: it contains nothing that these voices can speak', fault);
  }
  return {
    passages,
    voice: typeof voice === 'string' && isVoiceName(voice) ? voice : (VOICE_NAMES[0] ?? 'slt'),
    format: FORMATS.find((known) => known === format) ?? 'mp3',
    sampleRate: numberOf(input['sample_rate'], 8000, 48_000, DEFAULT_SAMPLE_RATE),
    pitch: numberOf(input['pitch'], -12, 12, 0),
    speed: numberOf(input['speed'], 0.5, 2, 1),
    volume: numberOf(input['volume'], 0.1, 2, 1),
  };
}

function silence(seconds: number): Float32Array {
  return new Float32Array(Math.round(seconds * VOICE_SAMPLE_RATE));
}

async function* spoken(request: SpeechRequest, progress: (fraction: number) => void): AsyncGenerator<Float32Array[]> {
  const { passages, voice, pitch, speed, volume } = request;
  const letters = passages.reduce((sum, passage) => sum + passage.text.length, 0);
  let lettersDone = 0;
  yield [silence(LEAD_IN_SECONDS)];
  for (const [index, { text, pauseSeconds }] of passages.entries()) {
    yield [polished(speak(text, voice, { pitch, speed }), voiceOf(voice), volume)];
    yield [silence(index === passages.length - 1 ? LEAD_OUT_SECONDS : pauseSeconds / speed)];
    lettersDone += text.length;
    progress(lettersDone / letters);
  }
}

/** Reads a text aloud. @throws {UnusableInputError} no part of the text can be spoken. */
export async function renderSpeech(work: EngineWork): Promise<readonly RenderedFile[]> {
  const { input, scratch } = work;
  const request = readSpeechRequest(input);
  const file = path.join(scratch, `speech.${request.format}`);
  const { format, sampleRate } = request;
  await writeAudio({
    path: file,
    format: format === 'aac' ? 'adts' : format,
    inputRate: VOICE_SAMPLE_RATE,
    sampleRate: format === 'opus' ? (OPUS_RATES.find((rate) => rate >= sampleRate) ?? 48_000) : sampleRate,
    channels: 1,
    samples: spoken(request, (fraction) => work.progress(fraction)),
  });
  return [{ path: file }];
}
