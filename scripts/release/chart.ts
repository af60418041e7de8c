/** The chart as it is published: it runs the image of its release, wherever that was pushed. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The only line of `values.yaml` that a release changes. */
const NO_REPOSITORY = /^ {2}repository: ''$/m;

interface ChartOptions {
  readonly helm: string;
  readonly version: string;
  /** Where the image is pushed, without a tag; undefined: users of the chart have to name one. */
  readonly image: string | undefined;
}

/**
 * @param source the chart's directory.
 * @param target the directory for the archive.
 * @returns its name.
 */
export async function packageChart(source: string, target: string, options: ChartOptions): Promise<string> {
  const { helm, version, image } = options;
  const directory = await mkdtemp(path.join(os.tmpdir(), 'darkroom-chart-'));
  try {
    const chart = path.join(directory, 'darkroom');
    await cp(source, chart, { recursive: true });
    if (image !== undefined) await nameImage(path.join(chart, 'values.yaml'), image);
    await run(helm, ['package', chart, '--destination', target, '--version', version, '--app-version', version]);
    return `darkroom-${version}.tgz`;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function nameImage(file: string, image: string): Promise<void> {
  const values = await readFile(file, 'utf8');
  if (!NO_REPOSITORY.test(values)) throw new Error(`${file}: no line "  repository: ''"`);
  await writeFile(file, values.replace(NO_REPOSITORY, `  repository: ${image}`));
}
