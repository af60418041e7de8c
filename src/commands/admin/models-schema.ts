/** `admin models schema`: the JSON Schemas of the files, with which editors complete and check them. */
import { modelFileSchema, providerFileSchema } from '../../catalogue/file-schemas.ts';
import { PROTOCOLS } from '../../providers/protocols.ts';

export function fileSchema(kind: 'model' | 'provider'): object {
  return kind === 'model' ? modelFileSchema(PROTOCOLS) : providerFileSchema(PROTOCOLS);
}
