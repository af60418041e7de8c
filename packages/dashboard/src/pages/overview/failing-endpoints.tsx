/** What an account's owner should know at once: endpoints whose deliveries fail. */
import { Anchor, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from 'wouter';
import type { Account } from '../../api/account.ts';
import { Note } from '../../components/note.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/overview.ts';

export function FailingEndpoints({ endpoints }: { readonly endpoints: NonNullable<Account['callbackProblems']> }) {
  if (endpoints.length === 0) return null;
  return (
    <Note color="orange" icon={<IconAlertTriangle aria-hidden />} title={texts.failingTitle} mb="lg">
      {endpoints.map(({ origin, givenUp, failingSince, isReduced }) => (
        <Text key={origin} size="sm" component="div">
          {texts.failing(origin, givenUp)} <Time seconds={failingSince} />. {isReduced ? texts.failingReduced : null}
        </Text>
      ))}
      <Anchor component={Link} href="/webhooks" size="sm" c="inherit" underline="always">
        {texts.toWebhooks}
      </Anchor>
    </Note>
  );
}
