/**
 * Sign-in to an account: with a link, which is redeemed as soon as the page opens, or with a key.
 */
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useLocation } from 'wouter';
import { ApiError, api } from '../api/api.ts';
import { LoadingState } from '../components/states.tsx';
import { texts } from '../texts/sign-in.ts';
import { replaceSession, useHasEnded } from './session.tsx';
import type { Session } from './session.tsx';
import { SignInForm } from './sign-in-form.tsx';

type Credential = { readonly key: string } | { readonly link: string };

/** Where a link's secret is: after `#`, which browsers do not send. It is removed from the URL at once. */
function takeLinkSecret(): string | undefined {
  const secret = window.location.pathname === '/sign-in' ? window.location.hash.slice(1) : '';
  if (secret === '') return undefined;
  window.history.replaceState(null, '', window.location.pathname);
  return secret;
}

/** Once per page load, however often React renders: a link is valid once. */
const linkSecret = takeLinkSecret();
let isRedeemed = false;

export function SignInPage() {
  const client = useQueryClient();
  const [location, navigate] = useLocation();
  const signIn = useMutation({
    mutationFn: (body: Credential) => api.call<Session>('POST', '/session', { body }),
    onSuccess: (session) => {
      replaceSession(client, session);
      if (location === '/sign-in') navigate('/', { replace: true });
    },
  });
  const { mutate } = signIn;
  const hasEnded = useHasEnded();
  useEffect(() => {
    if (linkSecret === undefined || isRedeemed) return;
    isRedeemed = true;
    mutate({ link: linkSecret });
  }, [mutate]);

  const isByLink = signIn.variables !== undefined && 'link' in signIn.variables;
  if (signIn.isPending && isByLink) return <LoadingState />;
  return (
    <SignInForm
      title={texts.title}
      documentTitle={texts.title}
      note={hasEnded ? texts.ended : undefined}
      label={texts.key}
      hint={texts.keyHint}
      error={signIn.error === null ? undefined : messageOf(signIn.error, isByLink)}
      isBusy={signIn.isPending}
      onSubmit={(key) => signIn.mutate({ key })}
      help={{ hint: texts.linkHint, command: texts.linkCommand }}
    />
  );
}

/** The service distinguishes links that are unknown, expired or used; of a key it reports only that it is invalid. */
function messageOf(error: Error, isByLink: boolean): string {
  const isInvalid = error instanceof ApiError && error.kind === 'unauthenticated';
  return isInvalid && !isByLink ? texts.invalidKey : error.message;
}
