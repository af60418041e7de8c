/**
 * A parent's side of a media child: a process of ours that holds the codec library, so that a hostile file, a crash
 * or a cancellation ends that process and nothing else. The child has no environment and a bound on its memory, and
 * one that reads an untrusted file is in a sandbox (sandbox.ts). It ends by itself when the parent's end of its pipe
 * closes; in the sandbox it is killed with the thread that started it, whatever it is doing.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex, Readable } from 'node:stream';
import { isFaultKind } from '@darkroom/api/facts/input-fault';
import { MAX_CPU_SECONDS, MAX_PROCESSES, childCommand, signalFromExitCode } from './child-command.ts';
import { KilledChildError } from './killed-child-error.ts';
import type { KillReason } from './killed-child-error.ts';
import { lowerProcessPriority } from './process-priority.ts';
import { PACKAGE_DIRECTORY } from './program-files.ts';
import { encodeBytesHeader, encodeJson, readMessage } from './messages.ts';
import type { ReadInto, MediaMessage } from './messages.ts';
import { measureTree, findOnlyChild, lowerTreePriority, tryToKill } from './process-tree.ts';
import { findMediaSandbox } from './sandbox.ts';
import type { MediaSandbox } from './sandbox.ts';
import { UndecodableMediaError } from './undecodable-media-error.ts';

/**
 * A child that sends nothing for this long while the parent waits, and works, is stuck: our own bound on one image or audio
 * file.
 */
const SILENCE_MS = 60_000;
/** For how many such times one may be silent that gets hardly any processor time: the machine is busy, not the file. */
const MAX_STARVED = 5;
const MAX_STDERR_CHARACTERS = 2000;
/**
 * The child's own message (child-channel.ts), and those of Node when its heap is full or the system gives it no more.
 */
const OUT_OF_MEMORY = /out of memory/i;
/** A child checks its own memory ten times a second; it is also checked from outside in case it does not. */
const WATCH_MS = 250;
/**
 * The memory in addition to the program's own bound: for the shell and the loader, and for what it allocates before it
 * checks the bound.
 */
const WATCH_BEYOND_MB = 256;

/** The signals of a program that crashed or was stopped by a limit, not of one that was killed. */
const CRASHES: ReadonlySet<string> = new Set<NodeJS.Signals>([
  'SIGSEGV',
  'SIGBUS',
  'SIGABRT',
  'SIGILL',
  'SIGFPE',
  'SIGTRAP',
  'SIGXFSZ',
  'SIGSYS',
]);
/** Options of a media child. */
export interface MediaChildOptions {
  /** The module that it runs, by its absolute path. */
  readonly module: string;
  /** Whether its input is untrusted: it is in a sandbox then, and a crash is the file's fault. */
  readonly isUntrusted: boolean;
  /** The memory limit of the whole process, in megabytes of resident memory. */
  readonly maxMemoryMb: number;
  /** Processor time of all its threads, in seconds; 1800 if omitted. In the sandbox only. */
  readonly maxCpuSeconds?: number;
  /** Whether it has the priority of this process until `letOthersFirst`; otherwise everything else goes first. */
  readonly isPrompt?: boolean;
  /** Files that it reads, by absolute path: in the sandbox it sees no others. */
  readonly readable?: readonly string[];
  readonly signal?: AbortSignal | undefined;
  /** A sandbox other than the best of this machine: for tests. */
  readonly sandbox?: MediaSandbox;
}

const running = new Set<MediaChild>();

/**
 * Ends all media children that this thread has started. Call this before a thread is terminated, while there is still
 * time: a child that outlives its thread ends too, but there is nothing left to reap it, and its entry stays in the
 * system's table until our process ends.
 */
export async function endMediaChildren(): Promise<void> {
  await Promise.all(Array.from(running, (child) => child.end()));
}

/** One running media child. The caller that starts it must call `end`, whatever happens. */
export class MediaChild {
  readonly #process: ChildProcess;
  readonly #toChild: Duplex;
  readonly #fromChild: Duplex;
  readonly #options: MediaChildOptions;
  readonly #ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly #readInto: ReadInto;
  readonly #onAbort = (): void => this.#kill();
  readonly #isConfined: boolean;
  /**
   * The child's processor time at which it is killed, as measured from outside, and how much it was allowed until
   * there.
   */
  #cpuBound: { readonly endsAt: number; readonly seconds: number } | undefined;
  #watch: NodeJS.Timeout | undefined;
  /** What it has exceeded, as seen from outside. */
  #excess: { readonly reason: KillReason; readonly problem: string } | undefined;
  #stderr = '';

  private constructor(options: MediaChildOptions, sandbox: MediaSandbox | undefined) {
    this.#options = options;
    this.#isConfined = sandbox !== undefined && sandbox.confinement !== 'none';
    const [command, ...args] = childCommand(options, sandbox);
    this.#process = spawn(command ?? process.execPath, args, {
      // A loader is found from here; the child is given absolute paths.
      cwd: PACKAGE_DIRECTORY,
      env: {},
      stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
    // In the sandbox the command line does this first: what it starts is another process.
    if (!this.#isConfined && options.isPrompt !== true) lowerProcessPriority(this.#process.pid);
    [this.#toChild, this.#fromChild] = this.#process.stdio.slice(3) as [Duplex, Duplex];
    // A broken pipe is reported by the end of the child, which is where all callers look.
    this.#toChild.on('error', () => {});
    this.#fromChild.on('error', () => {});
    this.#process.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-MAX_STDERR_CHARACTERS);
    });
    this.#ended = once(this.#process, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as NodeJS.Signals | null,
    }));
    this.#ended.catch(() => {});
    this.#readInto = createReader(this.#fromChild);
    running.add(this);
    if (options.isUntrusted) this.#watch = setInterval(() => this.#checkUsage(), WATCH_MS).unref();
    options.signal?.addEventListener('abort', this.#onAbort, { once: true });
    if (options.signal?.aborted === true) this.#kill();
  }

  /**
   * Starts a child and sends it its request. @throws {DOMException} `AbortError`: the signal has fired
   * already.
   */
  static async start(options: MediaChildOptions, request: object): Promise<MediaChild> {
    const sandbox = options.isUntrusted ? (options.sandbox ?? (await findMediaSandbox())) : undefined;
    options.signal?.throwIfAborted();
    const child = new MediaChild(options, sandbox);
    void child.sendJson({ ...request, maxMemoryMb: options.maxMemoryMb });
    return child;
  }

  /** Sends the child a JSON object. Never throws: `receive` reports that a child has ended. */
  async sendJson(value: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#write(encodeJson(value));
  }

  /**
   * Sends the child bytes, which may be changed afterwards.
   *
   * @param silenceMs how long it may accept none; for ever if omitted.
   * @returns false: the child has ended; `receive` reports why.
   */
  async sendBytes(bytes: Buffer, silenceMs?: number): Promise<boolean> {
    this.#toChild.write(encodeBytesHeader(bytes.length));
    const written = this.#write(bytes);
    return silenceMs === undefined
      ? written
      : (await this.#withTimeout(silenceMs, written)) && this.#excess === undefined;
  }

  /**
   * The child's next message.
   *
   * @param silenceMs how long it may send nothing.
   * @throws {UndecodableMediaError} the untrusted file cannot be used: in the child's own words, or because of how
   *   the child ended.
   * @throws {DOMException} `AbortError`: the signal fired.
   * @throws {Error} the child failed for another reason.
   */
  async receive(silenceMs = SILENCE_MS): Promise<MediaMessage> {
    const message = await this.#withTimeout(silenceMs, readMessage(this.#readInto));
    if (message === undefined || this.#excess?.reason === 'time') throw await this.#explainEnd();
    if (message.kind === 'bytes') return message;
    const { problem, problemKind, error } = message.value;
    if (typeof problem === 'string') {
      throw new UndecodableMediaError(problem, isFaultKind(problemKind) ? { kind: problemKind } : {});
    }
    if (typeof error === 'string') throw new Error('the media child failed', { cause: new Error(error) });
    return message;
  }

  /** The same for a message that must be JSON. */
  async receiveJson(silenceMs = SILENCE_MS): Promise<Readonly<Record<string, unknown>>> {
    const message = await this.receive(silenceMs);
    if (message.kind === 'bytes') throw new TypeError('a media child sent bytes where JSON was expected');
    return message.value;
  }

  /** The same for a message that must be bytes. */
  async receiveBytes(): Promise<Buffer> {
    const message = await this.receive();
    if (message.kind === 'json') throw new TypeError('a media child sent JSON where bytes were expected');
    return message.bytes;
  }

  /** From now on, and until the next call, the child may use this much processor time, where it can be measured. */
  allowCpu(seconds: number): void {
    this.#cpuBound = { endsAt: this.#cpuSeconds() + seconds, seconds };
  }

  /** From now on everything else goes first; its priority cannot be raised again. */
  letOthersFirst(): void {
    const { pid } = this.#process;
    if (pid !== undefined) lowerTreePriority(pid, MAX_PROCESSES);
  }

  /** The processor time that the child has taken, as measured from outside. */
  #cpuSeconds(): number {
    const { pid } = this.#process;
    return pid === undefined ? 0 : measureTree(pid, MAX_PROCESSES).cpuSeconds;
  }

  /** Ends the child, whatever it is doing. @returns when it has gone. */
  async end(): Promise<void> {
    this.#options.signal?.removeEventListener('abort', this.#onAbort);
    this.#kill();
    this.#fromChild.destroy();
    this.#toChild.destroy();
    await this.#ended.catch(() => {});
    clearInterval(this.#watch);
    running.delete(this);
  }

  /** Ends the child if it does not do its part in time. */
  async #withTimeout<T>(silenceMs: number, action: Promise<T>): Promise<T> {
    let times = 0;
    let before = 0;
    const timer = setInterval(() => {
      const cpuSeconds = this.#cpuSeconds();
      const isStarved = cpuSeconds - before < silenceMs / 2000;
      before = cpuSeconds;
      times += 1;
      if (isStarved && times < MAX_STARVED) return;
      this.#excess ??= { reason: 'time', problem: `takes longer than ${silenceMs / 1000} s to read` };
      this.#kill();
    }, silenceMs);
    return action.finally(() => clearInterval(timer));
  }

  /**
   * In the sandbox our own child waits for the first process of a namespace, and ends when all processes in it are
   * gone: so that one is killed. If there is none, or none yet, killing our child ends the other with it.
   */
  #kill(): void {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const first = this.#isConfined ? findOnlyChild(pid) : undefined;
    if (first === undefined || !tryToKill(first)) this.#process.kill('SIGKILL');
  }

  /** The bounds apply to everything that runs inside, together. */
  #checkUsage(): void {
    const { pid, exitCode, signalCode } = this.#process;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    const { processes, residentMb, cpuSeconds } = measureTree(pid, MAX_PROCESSES);
    if (processes >= MAX_PROCESSES) this.#excess = { reason: 'processes', problem: 'starts too many processes' };
    else if (residentMb > this.#options.maxMemoryMb + WATCH_BEYOND_MB) {
      this.#excess = { reason: 'memory', problem: this.#memoryProblem() };
    } else if (this.#cpuBound !== undefined && cpuSeconds > this.#cpuBound.endsAt) {
      this.#excess = { reason: 'cpu', problem: cpuProblem(this.#cpuBound.seconds) };
    }
    if (this.#excess !== undefined) this.#kill();
  }

  #memoryProblem(): string {
    return `takes more than ${this.#options.maxMemoryMb} MB of memory to read`;
  }

  async #write(bytes: Buffer): Promise<boolean> {
    return new Promise((resolve) => {
      this.#toChild.write(bytes, (error) => resolve(error == null));
    });
  }

  async #explainEnd(): Promise<Error> {
    this.#options.signal?.throwIfAborted();
    if (this.#excess?.reason === 'time') return this.#createFailure(this.#excess.reason, this.#excess.problem);
    const end = await this.#ended.catch((cause: unknown) => new Error('the media child did not start', { cause }));
    this.#options.signal?.throwIfAborted();
    if (end instanceof Error) return end;
    const signal = end.signal ?? (this.#isConfined ? signalFromExitCode(end.code) : undefined);
    if (this.#excess !== undefined) return this.#createFailure(this.#excess.reason, this.#excess.problem);
    if (OUT_OF_MEMORY.test(this.#stderr)) return this.#createFailure('memory', this.#memoryProblem());
    if (signal === 'SIGXCPU') {
      return this.#createFailure('cpu', cpuProblem(this.#options.maxCpuSeconds ?? MAX_CPU_SECONDS));
    }
    if (signal !== undefined && CRASHES.has(signal)) return this.#createFailure('crash', 'crashes its decoder');
    return new Error(`the media child ended: ${signal ?? `exit code ${end.code}`}`, {
      cause: new Error(this.#stderr),
    });
  }

  #createFailure(reason: KillReason, problem: string): Error {
    return this.#options.isUntrusted ? new KilledChildError(reason, problem) : new Error(`the encoding ${problem}`);
  }
}

function cpuProblem(seconds: number): string {
  return `takes more than ${seconds} s of processor time to read`;
}

function createReader(stream: Readable): ReadInto {
  const chunks = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let rest: Buffer = Buffer.alloc(0);
  return async (target) => {
    for (let filled = 0; filled < target.length;) {
      if (rest.length === 0) {
        // A stream that breaks has ended.
        const next = await chunks.next().catch(() => ({ done: true as const, value: undefined }));
        if (next.done === true) return false;
        rest = next.value;
      }
      const taken = rest.copy(target, filled);
      filled += taken;
      rest = rest.subarray(taken);
    }
    return true;
  };
}
