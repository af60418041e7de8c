/**
 * The programs inside the Temporal images of docker-compose.yml, built from the same sources with Go (90 s on 2
 * cores) and stored in the user's cache directory: for running the topology without a container engine, and for
 * building the images without a registry.
 */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageFile } from '../../src/config/package-root.ts';
import { obtainGoPrograms, whyNoGoPrograms } from './go-programs.ts';
import type { GoPrograms } from './go-programs.ts';

function programsOf(version: string): GoPrograms {
  return {
    directory: `temporal-server-${version}`,
    version: `v${version}`,
    // By their names in the images.
    packages: {
      'temporal-server': 'go.temporal.io/server/cmd/server',
      'temporal-sql-tool': 'go.temporal.io/server/cmd/tools/sql',
    },
  };
}

/** Why the programs are not available here, for the `skip` of a test; false if they are. */
export function whyNoTemporalPrograms(version: string): string | false {
  const problem = whyNoGoPrograms(programsOf(version));
  return problem && `no Temporal server to test with: ${problem}`;
}

/** The directory that contains them, for a PATH. */
export function obtainTemporalPrograms(version: string): Promise<string> {
  return obtainGoPrograms(programsOf(version));
}

/**
 * Makes Temporal's databases and their tables, as compose does.
 *
 * @param programs the directory that contains the programs. @param server what the script reads: `SQL_HOST` and so on.
 */
export async function setUpTemporalSchema(programs: string, server: NodeJS.ProcessEnv): Promise<void> {
  await promisify(execFile)('sh', [packageFile('deploy/docker/temporal/setup-schema.sh')], {
    env: { PATH: `${programs}${path.delimiter}${process.env['PATH']}`, ...server },
  });
}
