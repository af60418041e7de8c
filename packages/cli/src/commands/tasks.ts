/** `tasks`: finished and running tasks, filtered; and one task with all its details. */
import type { Command } from 'commander';
import { saveOutputs } from '../download.ts';
import { createProgress } from '../progress.ts';
import { collect, count, pairs, prepareDirectory } from '../session.ts';
import type { OpenSession, Session } from '../session.ts';
import { moment, table } from '../table.ts';
import { costOf, statusOf, taskLines } from '../task-text.ts';
import type { WireTask } from '@darkroom/api/tasks/task';
import type { WireTaskList } from '@darkroom/api/tasks/task-list';

interface ListOptions {
  readonly status?: readonly string[];
  readonly model?: string;
  readonly metadata?: readonly string[];
  readonly limit: number;
  readonly output?: string;
}

const DEFAULT_LIMIT = 20;
/** Contract §3: the maximum size of a page. */
const LARGEST_PAGE = 100;

export function addTasksCommand(program: Command, open: OpenSession): void {
  program
    .command('tasks')
    .description('list tasks, the newest first, or show one')
    .argument('[taskId]', 'show this task, with its input')
    .option('--status <status>', 'only tasks in this state; may be repeated', collect)
    .option('--model <model>', 'only tasks of this model')
    .option('--metadata <key=value>', 'only tasks with this label; may be repeated', collect)
    .option('--limit <number>', 'maximum number of results', count, DEFAULT_LIMIT)
    .option('-o, --output <directory>', 'with a task id: save its outputs there')
    .action(async (taskId: string | undefined, options: ListOptions) => {
      const session = await open();
      await (taskId === undefined ? listTasks(session, options) : showTask(session, taskId, options.output));
    });
}

async function listTasks({ api, terminal, isJson, signal }: Session, options: ListOptions): Promise<void> {
  const labels = Object.entries(pairs('--metadata', options.metadata ?? []));
  const filters = {
    status: options.status,
    model: options.model,
    ...Object.fromEntries(labels.map(([key, value]) => [`metadata.${key}`, value])),
  };
  const tasks: WireTask[] = [];
  let total = 0;
  let isCapped = false;
  let cursor: string | undefined;
  do {
    const size = Math.min(options.limit - tasks.length, LARGEST_PAGE);
    const page: WireTaskList = await api.call<WireTaskList>('GET', '/tasks', {
      query: { ...filters, size, cursor },
      signal,
    });
    tasks.push(...page.tasks);
    total = page.total;
    isCapped = page.totalIsCapped === true;
    cursor = page.nextCursor;
  } while (cursor !== undefined && tasks.length < options.limit);

  if (isJson) {
    terminal.printJson({ total, ...(isCapped ? { totalIsCapped: true } : {}), tasks });
    return;
  }
  const rows = tasks.map((task) => [task.taskId, statusOf(task), costOf(task), moment(task.created), task.model]);
  for (const line of table(['TASK', 'STATUS', 'COST>', 'CREATED', 'MODEL'], rows)) terminal.print(line);
  if (total > tasks.length)
    terminal.say(`${tasks.length} of ${isCapped ? 'more than ' : ''}${total}; --limit shows more`);
}

async function showTask(session: Session, taskId: string, output: string | undefined): Promise<void> {
  const { api, terminal, isJson, signal } = session;
  const directory = output === undefined ? undefined : await prepareDirectory(output);
  const path = `/tasks/${encodeURIComponent(taskId)}`;
  const task = await api.call<WireTask>('GET', path, { query: { include: 'input' }, signal });
  const progress = createProgress(terminal);
  try {
    const files =
      directory === undefined ? [] : await saveOutputs(api, task, { directory, signal, onBytes: progress.onBytes });
    if (isJson) {
      terminal.printJson(directory === undefined ? task : { ...task, files });
      return;
    }
    for (const line of taskLines(task)) terminal.print(line);
    for (const { path: file } of files) terminal.print(`file  ${file}`);
  } finally {
    progress.end();
  }
}
