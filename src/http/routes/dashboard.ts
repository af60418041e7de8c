/**
 * The dashboard: its page, at every path of its router, and its files. The public listener has the account's
 * pages, the admin listener the operator's; both are the same build (web/).
 */
import { randomBytes } from 'node:crypto';
import type { Middleware, ParameterizedContext } from 'koa';
import { packageFile } from '../../config/package-root.ts';
import { answerOtherMethod, methodsOfPath } from '../app/unrouted.ts';
import type { HttpContext, RequestState } from '../app/context.ts';
import { notFound } from '../app/errors.ts';
import { defineRoute } from '../app/route.ts';
import type { Route } from '../app/route.ts';
import { CACHE_AN_HOUR, CACHE_FOREVER, answerFile, createStaticFiles } from '../app/static-files.ts';

const dashboardFiles = createStaticFiles(packageFile('dist/dashboard'));
/** It has placeholders, `{{nonce}}` and `{{listener}}`, which each response fills in. */
const PAGE = 'index.html';

/** The first path segments that show the page; what follows is for the router in the browser. */
const PAGES: Readonly<Record<'public' | 'admin', readonly string[]>> = {
  public: ['sign-in', 'models', 'playground', 'tasks', 'storage', 'keys', 'webhooks', 'usage'],
  admin: ['accounts', 'service', 'work'],
};

/** Paths whose responses are for programs, even where a browser requests them. */
const FOR_PROGRAMS = new Set(['v1', 'admin', 'assets']);

/** File names that contain a hash of the content: all but a few. */
const HASHED = /-[\w-]{8}\.\w+$/;

/**
 * Nothing comes from elsewhere, and nothing runs that is not a file of ours. The component library adds some of its
 * styles to the page at run time, with the nonce.
 */
function pagePolicy(nonce: string, mediaOrigins: readonly string[]): string {
  const media = ["'self'", ...mediaOrigins].join(' ');
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src ${media} data: blob:`,
    `media-src ${media} blob:`,
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}

export interface Dashboard {
  readonly routes: readonly Route[];
  /**
   * Serves the page at every path of its router, and to browsers as 404 where no page exists, which it then
   * states; to be called where no route matched the request.
   */
  readonly pages: Middleware<RequestState>;
}

/** @param listener whose pages these are. */
export function createDashboard(http: HttpContext, listener: 'public' | 'admin'): Dashboard {
  let origins: Promise<readonly string[]> | undefined;
  const mediaOrigins = (): Promise<readonly string[]> => (origins ??= findMediaOrigins(http));

  const answerPage = async (ctx: ParameterizedContext<RequestState>, status: 200 | 404): Promise<void> => {
    const page = (await dashboardFiles())?.get(PAGE);
    if (page === undefined) throw notFound();
    const nonce = randomBytes(16).toString('base64url');
    ctx.set('Content-Security-Policy', pagePolicy(nonce, await mediaOrigins()));
    // For browsers that do not support `frame-ancestors`.
    ctx.set('X-Frame-Options', 'DENY');
    ctx.set('Cross-Origin-Opener-Policy', 'same-origin');
    // With `no-referrer` browsers send no `Origin` either, and the origin shows that a request is ours.
    ctx.set('Referrer-Policy', 'same-origin');
    // Each response has its own nonce.
    ctx.set('Cache-Control', 'no-store');
    ctx.status = status;
    ctx.type = 'html';
    ctx.body = page.content.toString().replaceAll('{{nonce}}', nonce).replaceAll('{{listener}}', listener);
  };

  const pages: Middleware<RequestState> = async (ctx, next) => {
    const [, first = ''] = ctx.path.split('/');
    const isPage = PAGES[listener].includes(first);
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') {
      if (!isPage || (await dashboardFiles()) === undefined) return next();
      return answerOtherMethod(ctx, ['GET']);
    }
    if (isPage) return answerPage(ctx, 200);
    return isPageRequest(ctx, first) ? answerPage(ctx, 404) : next();
  };

  const routes = [
    defineRoute({
      method: 'GET',
      path: '/',
      operationId: 'getDashboard',
      tag: 'Dashboard',
      summary: 'Get the dashboard',
      description: `The pages of the dashboard are at ${PAGES[listener].map((name) => `\`/${name}\``).join(', ')} and below.`,
      access: 'none',
      response: { kind: 'other', mimeTypes: ['text/html'], description: 'The page.' },
      async handle({ ctx }) {
        await answerPage(ctx, 200);
        return undefined;
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/assets/{fileName...}',
      operationId: 'getDashboardFile',
      tag: 'Dashboard',
      summary: 'Get a file of the dashboard',
      access: 'none',
      params: { fileName: 'The file name, as referenced by the page.' },
      response: {
        kind: 'other',
        mimeTypes: ['text/javascript', 'text/css', 'image/svg+xml', 'image/webp', 'video/mp4', 'audio/mpeg'],
        description: 'The file.',
      },
      otherResponses: { 304: { description: 'Not modified: your copy (`If-None-Match`) is current.' } },
      errors: ['NOT_FOUND'],
      async handle({ ctx, params }) {
        const name = params['fileName'] ?? '';
        const file = (await dashboardFiles())?.get(`assets/${name}`);
        if (file === undefined) throw notFound();
        answerFile(ctx, file, HASHED.test(name) ? CACHE_FOREVER : CACHE_AN_HOUR);
        return undefined;
      },
    }),
  ];
  return { routes, pages };
}

/** Whether a browser requests a page, at a URL that no route has. */
function isPageRequest(ctx: ParameterizedContext<RequestState>, first: string): boolean {
  return methodsOfPath(ctx).size === 0 && !FOR_PROGRAMS.has(first) && ctx.accepts('json', 'html') === 'html';
}

/**
 * The origins of outputs: our own URL, although the page may be open under another name of this machine, and the
 * store's where it serves them itself.
 */
async function findMediaOrigins({ config, store, urlSigner }: HttpContext): Promise<readonly string[]> {
  if (config.urls.downloads === 'proxy' || store.presign === undefined) return [urlSigner.publicUrl];
  const read = { method: 'GET', seconds: 60, mimeType: 'image/png', disposition: 'inline' } as const;
  return [urlSigner.publicUrl, new URL(await store.presign('dashboard', read)).origin];
}
