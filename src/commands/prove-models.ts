/**
 * A step of the build: writes which of the package's model files have no problem, so that no api has to find that out
 * again. One that has a problem is left to the api, which reports it. Run by scripts/build.mjs.
 */
import { writeFile } from 'node:fs/promises';
import { PROVEN_MODELS, createModelReader } from '../catalogue/load-models.ts';
import { readModelTexts } from '../catalogue/model-files.ts';
import { packageFile } from '../config/package-root.ts';
import { PROTOCOLS } from '../providers/protocols.ts';

const { proven } = await createModelReader(PROTOCOLS)(await readModelTexts([packageFile('models')]));
await writeFile(PROVEN_MODELS, JSON.stringify([...proven()]));
