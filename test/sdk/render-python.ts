/** Writes the generated files of the Python SDK: `npm run ts -- test/sdk/render-python.ts`. Needs Python. */
import { writeFile } from 'node:fs/promises';
import { packageFile } from '../../src/config/package-root.ts';
import { PYTHON_MODELS, pythonAsyncClient, pythonModels } from './python-sources.ts';

await writeFile(packageFile(PYTHON_MODELS), await pythonModels());
for (const [name, text] of Object.entries(await pythonAsyncClient())) await writeFile(packageFile(name), text);
