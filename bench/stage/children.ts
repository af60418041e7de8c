/** The processes of a bench: started here, awaited until they are ready, and ended here, each by its own pid. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import type { Launch } from '../../src/standalone/launch.ts';
import type { Answer, Order, WindowResult } from '../load/window.ts';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;

/** A process of the bench; one with a channel reports over it when it is ready. */
export class Child {
  readonly #process: ChildProcess;
  readonly name: string;
  readonly #exited: Promise<void>;
  readonly #ready: Promise<void>;

  constructor(name: string, launch: Launch, logFile: string) {
    this.name = name;
    this.#process = spawn(launch.command, [...launch.args], {
      env: launch.environment,
      stdio: ['ignore', 'pipe', 'pipe', ...(launch.hasChannel === true ? (['ipc'] as const) : [])],
      ...(launch.user === undefined ? {} : launch.user),
    });
    const log = createWriteStream(logFile, { flags: 'a' });
    this.#process.stdout?.pipe(log, { end: false });
    this.#process.stderr?.pipe(log, { end: false });
    this.#exited = new Promise((resolve) => {
      this.#process.once('exit', () => resolve());
      this.#process.once('error', () => resolve());
    });
    this.#ready = new Promise((resolve) => {
      this.#process.once('message', () => resolve());
    });
  }

  /** @throws {Error} it could not be started. */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error(`${this.name} has no pid`);
    return this.#process.pid;
  }

  /** @throws {Error} the process ended instead. */
  async ready(): Promise<void> {
    await Promise.race([this.#ready, this.#fails()]);
  }

  /** Orders a load process to run one window. */
  async run(order: Order): Promise<WindowResult> {
    const answered = new Promise<Answer>((resolve) => {
      this.#process.once('message', (answer: Answer) => resolve(answer));
    });
    this.#process.send(order);
    const answer = await Promise.race([answered, this.#fails()]);
    if ('error' in answer) throw new Error(`${this.name}: ${answer.error}`);
    return answer.result;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    this.#process.kill(signal);
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await this.#exited;
    clearTimeout(timer);
  }

  /** Waits until a server without a channel is ready. @throws {Error} it ended instead. */
  async readyWhen(wait: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const signal = AbortSignal.timeout(START_TIMEOUT_MS);
    await Promise.race([wait(signal), this.#fails()]);
  }

  async #fails(): Promise<never> {
    await this.#exited;
    throw new Error(`${this.name} ended; see its log`);
  }
}

/** Ends the last started first, so that none loses what it depends on. */
export async function stopAll(children: ReadonlySet<Child>): Promise<void> {
  for (const child of [...children].toReversed()) await child.stop();
}
