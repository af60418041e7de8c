/** `watch`: prints the events of a task until it ends; with `--json` one JSON document per line. */
import type { Command } from 'commander';
import { followTask } from '../follow.ts';
import { outcomeOf, printOutcome, requireSuccess } from '../outcome.ts';
import { createProgress } from '../progress.ts';
import { prepareDirectory } from '../session.ts';
import type { OpenSession } from '../session.ts';
import { eventLine } from '../task-text.ts';

const POLL_INTERVAL_MS = 2_000;

export function addWatchCommand(program: Command, open: OpenSession): void {
  program
    .command('watch')
    .description('print the events of a task until it ends')
    .argument('<taskId>', 'the id of a task')
    .option('-o, --output <directory>', 'save the outputs there when it has succeeded')
    .addHelpText('after', '\nWith --json each line is {"event":…}, and the last one {"task":…,"files":[…]}.')
    .action(async (taskId: string, { output }: { output?: string }) => {
      const session = await open();
      const { api, terminal, signal, isJson } = session;
      const directory = output === undefined ? undefined : await prepareDirectory(output);
      const progress = createProgress(terminal);
      try {
        const task = await followTask(
          api,
          taskId,
          {
            onEvent(event) {
              if (isJson) terminal.printJson({ event }, true);
              else terminal.print(eventLine(event));
            },
            // Without a bar the events are enough.
            onTask: (task) => (terminal.hasStatusLine ? progress.onTask(task) : undefined),
            onRemark: terminal.say,
          },
          { signal, pollIntervalMs: POLL_INTERVAL_MS },
        );
        const files = await outcomeOf(session, task, directory, progress);
        progress.end();
        if (isJson) terminal.printJson({ task, files }, true);
        else printOutcome(session, task, files);
        requireSuccess(task);
      } finally {
        progress.end();
      }
    });
}
