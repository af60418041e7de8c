/**
 * The command line of a media child: Node, in the sandbox if it reads an untrusted file, with the kernel's limits on
 * it.
 */
import os from 'node:os';
import { niceness } from './process-priority.ts';
import { mediaSandboxCommand } from './sandbox.ts';
import type { MediaSandbox } from './sandbox.ts';

/** JavaScript's share of the child's memory: a few objects. */
const CHILD_HEAP_MB = 256;

/** Decoding a video of ten minutes at 4096 x 4096 pixels takes half of it. */
export const MAX_CPU_SECONDS = 1800;
/**
 * In addition to the bound on resident memory, which reports more clearly what happened: how much a process may have
 * requested, as a multiple of that bound plus an amount for Node itself. Decoders request more than they touch.
 */
const DATA_FACTOR = 2;
const NODE_DATA_MB = 512;
/** A child writes no file. */
const MAX_FILE_MB = 1;
const MAX_OPEN_FILES = 256;
/** A child has 20. */
export const MAX_PROCESSES = 64;

/** A shell reports a program that was ended by a signal as this plus the signal's number. */
const SIGNAL_EXIT_BASE = 128;

/** What to run, and within which bounds. */
interface ChildProgram {
  readonly module: string;
  readonly maxMemoryMb: number;
  readonly maxCpuSeconds?: number;
  readonly isPrompt?: boolean;
  readonly readable?: readonly string[];
}

/** @param sandbox undefined: none is needed. */
export function childCommand(program: ChildProgram, sandbox: MediaSandbox | undefined): readonly string[] {
  const { module } = program;
  const command = [process.execPath, `--max-old-space-size=${CHILD_HEAP_MB}`, module];
  if (sandbox === undefined) return command;
  return mediaSandboxCommand(sandbox, {
    command,
    readable: [module, ...(program.readable ?? [])],
    niceness: program.isPrompt === true ? 0 : niceness(),
    limits: {
      cpuSeconds: program.maxCpuSeconds ?? MAX_CPU_SECONDS,
      dataMb: program.maxMemoryMb * DATA_FACTOR + NODE_DATA_MB,
      fileMb: MAX_FILE_MB,
      openFiles: MAX_OPEN_FILES,
      processes: MAX_PROCESSES,
    },
  });
}

/** The signal that ended a program in the sandbox, from the exit code of the shell that waited for it. */
export function signalFromExitCode(code: number | null): NodeJS.Signals | undefined {
  const number = (code ?? 0) - SIGNAL_EXIT_BASE;
  const found = Object.entries(os.constants.signals).find(([, value]) => value === number);
  return found?.[0] as NodeJS.Signals | undefined;
}
