/** What must hold for outputs: they are what the provider produced, and they can be downloaded. */
import type { Evidence, Invariant } from '../evidence.ts';
import { mayBeUndone } from '../losses.ts';
import { finalTasks } from './tasks.ts';

export const outputsAreWhatWasMade: Invariant = {
  name: 'every success output downloads in full, with the length and SHA-256 that the provider produced',
  check(evidence) {
    /** What the provider announced as complete, by marker. */
    const made = new Map<string, Set<string>>();
    for (const line of evidence.provider) {
      if (line.kind !== 'file') continue;
      const marker = /^marker-[\w-]+/.exec(line.prompt)?.[0] ?? '';
      made.set(marker, (made.get(marker) ?? new Set()).add(`${line.bytes} ${line.sha256}`));
    }
    const finals = finalTasks(evidence);
    const downloads = [...evidence.clients, ...evidence.downloads];
    const last = new Map(
      evidence.downloads.flatMap((line) => (line.kind === 'download' ? [[line.outputId, line] as const] : [])),
    );
    const unmade = [...finals.values()].flatMap((task) => {
      const known = made.get(task.metadata?.['marker'] ?? '');
      return (task.output ?? []).flatMap(({ id, sizeBytes, sha256 }) => {
        const problems: string[] = [];
        if (known?.has(`${sizeBytes} ${sha256}`) !== true)
          problems.push(`${sizeBytes} ${sha256} was never made for this task`);
        const download = last.get(id);
        if (download?.bytes === undefined && !isDeletionLost(task.taskId, evidence))
          problems.push(`it cannot be had: ${JSON.stringify(download?.outcome ?? 'not tried')}`);
        return problems.map((detail) => ({ subject: id, detail }));
      });
    });
    const sizes = new Map(
      [...finals.values()].flatMap(({ output }) => (output ?? []).map((each) => [each.id, each] as const)),
    );
    const wrong = downloads.flatMap((line) => {
      if (line.kind !== 'download' || line.bytes === undefined) return [];
      const reportedSize = sizes.get(line.outputId);
      if (reportedSize === undefined || (reportedSize.sizeBytes === line.bytes && reportedSize.sha256 === line.sha256))
        return [];
      return [
        {
          subject: line.outputId,
          detail: `${line.bytes} ${line.sha256} came, ${reportedSize.sizeBytes} ${reportedSize.sha256} was reported`,
        },
      ];
    });
    return [...unmade, ...wrong];
  },
};

/** Its owner deleted it, which removes the bytes at once, and the record of that was lost. */
function isDeletionLost(taskId: string, { clients, losses }: Evidence): boolean {
  return clients.some((line) => line.kind === 'delete' && line.taskId === taskId && mayBeUndone(line, losses));
}
