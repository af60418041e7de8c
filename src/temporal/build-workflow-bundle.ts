/**
 * The build's last step: writes the workflow bundle to the directory of the compiled program. Run by
 * scripts/bootstrap.mjs.
 */
import { writeFile } from 'node:fs/promises';
import { createLogger } from '../telemetry/log.ts';
import { BUILT_BUNDLE, bundleWorkflows } from './workflow-bundle.ts';

const { code } = await bundleWorkflows(createLogger({ level: 'warn', format: 'json', role: 'build' }));
await writeFile(BUILT_BUNDLE, code);
