/**
 * The progress of a task, on stderr: a bar on a terminal, and otherwise a line whenever something changes.
 */
import { size } from './table.ts';
import type { Terminal } from './terminal.ts';
import type { WireTask } from '@darkroom/api/tasks/task';

export interface Progress {
  readonly onTask: (task: WireTask) => void;
  readonly onBytes: (fileName: string, received: number, total: number) => void;
  /** Removes the bar. */
  readonly end: () => void;
}

const REDRAW_MS = 200;
const LARGEST_BAR = 30;

/** What is shown, of a task or of a file. */
interface Stage {
  readonly label: string;
  /** 0 to 1; undefined if unknown. */
  readonly done: number | undefined;
}

export function createProgress(terminal: Terminal): Progress {
  return terminal.hasStatusLine ? createBar(terminal) : createLines(terminal);
}

function createBar(terminal: Terminal): Progress {
  let stage: Stage | undefined;
  const began = Date.now();
  const draw = (): void => {
    if (stage !== undefined) terminal.setStatus(bar(stage, Date.now() - began, terminal.columns));
  };
  const timer = setInterval(draw, REDRAW_MS).unref();
  const show = (next: Stage): void => {
    stage = next;
    draw();
  };
  return {
    onTask: ({ status, progress }) => show({ label: status, done: status === 'success' ? 1 : progress }),
    onBytes: (fileName, received, total) => {
      // Called many times a second: the timer draws them.
      stage = { label: `${fileName} ${size(received)} of ${size(total)}`, done: total === 0 ? 1 : received / total };
    },
    end() {
      clearInterval(timer);
      terminal.setStatus(undefined);
    },
  };
}

/**
 * Draws a bar: filled as far as the progress is known, with a moving block if it is not.
 *
 * @param columns of the terminal; the bar never takes all of them, because the line would wrap.
 */
export function bar({ label, done }: Stage, elapsedMs: number, columns: number): string {
  const seconds = `${Math.floor(elapsedMs / 1000)} s`;
  const percent = done === undefined ? '' : `${String(Math.floor(done * 100)).padStart(3)}%  `;
  const text = `  ${percent}${label}  ${seconds}`;
  const width = Math.min(LARGEST_BAR, columns - text.length - 3);
  if (width < 3) return text.trim().slice(0, columns - 1);
  if (done !== undefined) {
    const filled = Math.round(Math.min(Math.max(done, 0), 1) * width);
    return `[${'█'.repeat(filled)}${'░'.repeat(width - filled)}]${text}`;
  }
  const position = Math.floor(elapsedMs / REDRAW_MS) % width;
  return `[${'░'.repeat(position)}█${'░'.repeat(width - position - 1)}]${text}`;
}

function createLines(terminal: Terminal): Progress {
  let last = '';
  return {
    onTask({ taskId, status, progress }) {
      const line = `${taskId}  ${status}${progress === undefined ? '' : ` ${Math.floor(progress * 100)}%`}`;
      if (line === last) return;
      last = line;
      terminal.say(line);
    },
    onBytes: () => undefined,
    end: () => undefined,
  };
}
