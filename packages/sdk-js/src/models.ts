/** The models that a key may use. */
import { modelPath } from '@darkroom/api/client/api-client';
import type { Model, ModelDetail, ModelList } from './generated/types.ts';
import type { CallOptions } from './options.ts';
import type { Requester } from './requests.ts';

export interface Models {
  /** Lists the models that the key may use, with their prices. */
  list(options?: CallOptions): Promise<readonly Model[]>;
  /** Reads a model with the schema of its input. */
  get(name: string, options?: CallOptions): Promise<ModelDetail>;
}

/** @internal */
export function createModels(requester: Requester): Models {
  return {
    async list(options = {}) {
      return (await requester.call<ModelList>('GET', '/models', {}, options)).data;
    },
    get: (name, options = {}) => requester.call('GET', modelPath(name), {}, options),
  };
}
