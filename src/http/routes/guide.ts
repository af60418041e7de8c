/**
 * The guide: the documents of docs/ as the build made pages of them (packages/guide). Public, and the same for
 * everybody.
 */
import type { Middleware, ParameterizedContext } from 'koa';
import { packageFile } from '../../config/package-root.ts';
import { RequestError, notFound } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { CACHE_AN_HOUR, CACHE_FOREVER, CACHE_REVALIDATED, answerFile, createStaticFiles } from '../app/static-files.ts';
import type { StaticFiles } from '../app/static-files.ts';
import { answerOtherMethod } from '../app/unrouted.ts';
import type { RequestState } from '../app/context.ts';
import { protectPage } from '../middleware/response-headers.ts';

const ROOT = '/guide';
/** The URL that the pages themselves use. OpenAPI documents name none with a slash at the end. */
const ROOT_OF_PAGES = '/guide/';
const START_PAGE = 'index';
const PAGE_SUFFIX = '.html';
const NOT_FOUND_PAGE = '404.html';
/** The build puts a hash into the name of everything in it. */
const HASHED = 'assets/';

const guideFiles = createStaticFiles(packageFile('dist/guide'));

export interface Guide {
  readonly routes: readonly Route[];
  /** Shows the start page at `/guide/` too; to be called where no route matched the request. */
  readonly startPage: Middleware<RequestState>;
}

/** @param readFiles for tests: where the files are from. */
export function createGuide(readFiles: () => Promise<StaticFiles | undefined> = guideFiles): Guide {
  /** @param name of a file, or of a page without its suffix. */
  async function answer(ctx: ParameterizedContext<RequestState>, name: string): Promise<void> {
    const files = await readFiles();
    if (files === undefined) {
      throw new RequestError('not_found', 'The guide is not built. Run `npm run build`, and reload this page.');
    }
    const fullName = files.has(name + PAGE_SUFFIX) ? name + PAGE_SUFFIX : name;
    const file = files.get(fullName);
    if (file === undefined || fullName === NOT_FOUND_PAGE) {
      answerMissing(ctx, files);
      return;
    }
    if (file.type === PAGE_SUFFIX) protectPage(ctx);
    answerFile(ctx, file, cacheOf(fullName, file.type));
  }

  const startPage: Middleware<RequestState> = async (ctx, next) => {
    if (ctx.path !== ROOT_OF_PAGES) return next();
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') return answerOtherMethod(ctx, ['GET']);
    return answer(ctx, START_PAGE);
  };

  const routes = [
    defineRoute({
      method: 'GET',
      path: ROOT,
      operationId: 'getGuide',
      tag: 'Service',
      summary: 'Get the guide',
      description:
        'Returns the start page of the documentation: guides, operations, reference and decisions, with a search.',
      access: 'none',
      response: { kind: 'other', mimeTypes: ['text/html'], description: 'The start page.' },
      otherResponses: { 304: { description: 'Not modified: your copy (`If-None-Match`) is current.' } },
      errors: ['NOT_FOUND'],
      async handle({ ctx }) {
        await answer(ctx, START_PAGE);
        return undefined;
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${ROOT}/{fileName...}`,
      operationId: 'getGuideFile',
      tag: 'Service',
      summary: 'Get a page or a file of the guide',
      description: 'If the file does not exist, browsers receive the 404 as a page.',
      access: 'none',
      params: { fileName: 'The file name, as referenced by the pages.' },
      response: {
        kind: 'other',
        mimeTypes: ['text/html', 'text/javascript', 'text/css', 'application/json', 'image/webp'],
        description: 'The page or the file.',
      },
      otherResponses: { 304: { description: 'Not modified: your copy (`If-None-Match`) is current.' } },
      errors: ['NOT_FOUND'],
      async handle({ ctx, params }) {
        await answer(ctx, params['fileName'] ?? '');
        return undefined;
      },
    }),
  ];
  return { routes, startPage };
}

function cacheOf(name: string, type: string): string {
  if (name.startsWith(HASHED)) return CACHE_FOREVER;
  return type === PAGE_SUFFIX || type === '.json' ? CACHE_REVALIDATED : CACHE_AN_HOUR;
}

/** Browsers get a page with links. */
function answerMissing(ctx: ParameterizedContext<RequestState>, files: StaticFiles): void {
  const page = files.get(NOT_FOUND_PAGE);
  if (page === undefined || ctx.accepts('json', 'html') !== 'html') throw notFound();
  protectPage(ctx);
  ctx.set('Cache-Control', CACHE_REVALIDATED);
  ctx.status = 404;
  ctx.type = 'html';
  ctx.body = page.content;
}
