/** How long test files took, so that a run shows where its time went. */
import path from 'node:path';

/** How many of the slowest files are printed. */
const SLOWEST = 10;

export class FileDurations {
  readonly #msByFile = new Map<string, number>();

  /** @param file below the root of the repository: `test/web/models.test.js`, `packages/media/dist/test/x.test.js`. */
  add(file: string, ms: number): void {
    this.#msByFile.set(file, ms);
  }

  /** Lines for people: the groups by their time, with what they may take, and the slowest files. */
  report(budgetSeconds: Readonly<Record<string, number>>): readonly string[] {
    if (this.#msByFile.size <= 1) return [];
    const groups = new Map<string, { files: number; ms: number }>();
    for (const [file, ms] of this.#msByFile) {
      const group = groups.get(groupOf(file)) ?? { files: 0, ms: 0 };
      groups.set(groupOf(file), { files: group.files + 1, ms: group.ms + ms });
    }
    const byTime = [...groups].toSorted(([, a], [, b]) => b.ms - a.ms);
    const slowest = [...this.#msByFile].toSorted(([, a], [, b]) => b - a).slice(0, SLOWEST);
    return [
      'Time by group, summed over its files (several run at once):',
      ...byTime.map(([name, { files, ms }]) => {
        const budget = budgetSeconds[name];
        const bound = budget === undefined ? '' : `, budget ${budget} s${ms > budget * 1000 ? ': exceeded' : ''}`;
        return `  ${seconds(ms)} ${name} (${files} ${files === 1 ? 'file' : 'files'}${bound})`;
      }),
      'Slowest files:',
      ...slowest.map(([file, ms]) => `  ${seconds(ms)} ${file}`),
    ];
  }
}

/** The directory below `test`, or the package. */
export function groupOf(file: string): string {
  const [top = '', second = '', third] = file.split(path.sep);
  if (top === 'packages') return second;
  return third === undefined ? top : second;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`.padStart(9);
}
