/**
 * The programs inside the Temporal images of docker-compose.yml, built from the same sources with Go (90 s on 2 cores)
 * and kept in the user's cache folder: for running the topology where there is no container engine, and for making the
 * images where no registry is reached.
 */
import { obtainGoPrograms, whyNoGoPrograms } from './go-programs.ts';
import type { GoPrograms } from './go-programs.ts';

function programsOf(version: string): GoPrograms {
  return {
    folder: `temporal-server-${version}`,
    version: `v${version}`,
    // By the name that they have in the images.
    packages: {
      'temporal-server': 'go.temporal.io/server/cmd/server',
      'temporal-sql-tool': 'go.temporal.io/server/cmd/tools/sql',
    },
  };
}

/** Why the programs cannot be had here, for the `skip` of a test; false where they can. */
export function whyNoTemporalPrograms(version: string): string | false {
  const problem = whyNoGoPrograms(programsOf(version));
  return problem && `no Temporal server to test with: ${problem}`;
}

/** The folder that holds them, for a PATH. */
export function obtainTemporalPrograms(version: string): Promise<string> {
  return obtainGoPrograms(programsOf(version));
}
