/** The processes of a bench: started here, awaited until they are ready, and ended here, each by its own pid. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { Launch } from '../../../src/standalone/processes.ts';
import type { Answer, Order, WindowResult } from '../load/window.ts';

const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 15_000;
/** How much of the log of a process that ended is shown. */
const LOGGED_LINES = 15;

/** A process of the bench; one with a channel reports over it when it is ready. */
export class Child {
  readonly #process: ChildProcess;
  readonly name: string;
  readonly #logFile: string;
  readonly #exited: Promise<void>;
  readonly #first: Promise<unknown>;

  constructor(name: string, launch: Launch, logFile: string) {
    this.name = name;
    this.#logFile = logFile;
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
    this.#first = new Promise((resolve) => {
      this.#process.once('message', resolve);
    });
  }

  /** @throws {Error} it could not be started. */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error(`${this.name} has no pid`);
    return this.#process.pid;
  }

  /** @throws {Error} the process ended instead. */
  async ready(): Promise<void> {
    await this.message();
  }

  /** What it reports when it is ready. @throws {Error} the process ended instead. */
  async message<Message>(): Promise<Message> {
    return (await Promise.race([this.#first, this.#fails()])) as Message;
  }

  /** Orders a load process to run one window. */
  run(order: Order): Promise<WindowResult> {
    return this.order<WindowResult>(order);
  }

  /** Gives a process an order and waits for its result. @param onOther receives what it reports before that. */
  async order<Result>(order: object, onOther?: (message: object) => void): Promise<Result> {
    const take = (message: Answer<Result> | object): void => {
      if ('result' in message || 'error' in message) answered.emit('answer', message);
      else onOther?.(message);
    };
    const answered = new EventEmitter<{ answer: [Answer<Result>] }>();
    this.#process.on('message', take);
    try {
      this.#process.send(order);
      const [answer] = (await Promise.race([once(answered, 'answer'), this.#fails()])) as [Answer<Result>];
      if ('error' in answer) throw new Error(`${this.name}: ${answer.error}`);
      return answer.result;
    } finally {
      this.#process.off('message', take);
    }
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
    const log = await readFile(this.#logFile, 'utf8').catch(() => '');
    throw new Error(`${this.name} ended:\n${log.trimEnd().split('\n').slice(-LOGGED_LINES).join('\n')}`);
  }
}

/** Ends the last started first, so that none loses what it depends on. */
export async function stopAll(children: ReadonlySet<Child>): Promise<void> {
  for (const child of [...children].toReversed()) await child.stop();
}
