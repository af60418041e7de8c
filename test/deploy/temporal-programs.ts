/**
 * The programs inside the Temporal images of docker-compose.yml, built from the same sources with Go (90 s on 2
 * cores) and stored in the user's cache directory: for running the topology without a container engine, and for
 * building the images without a registry.
 */
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
