/** What an account's owner should know at once: receivers whose callbacks fail. */
import { Anchor, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { Link } from 'wouter';
import type { Account } from '../../api/account.ts';
import { Note } from '../../components/note.tsx';
import { Time } from '../../components/time.tsx';
import { texts } from '../../texts/home.ts';

export function Problems({ problems }: { readonly problems: NonNullable<Account['callbackProblems']> }) {
  if (problems.length === 0) return null;
  return (
    <Note color="orange" icon={<IconAlertTriangle aria-hidden />} title={texts.problemTitle} mb="lg">
      {problems.map(({ origin, givenUp, failingSince, isReduced }) => (
        <Text key={origin} size="sm" component="div">
          {texts.problem(origin, givenUp)} <Time seconds={failingSince} />. {isReduced ? texts.problemReduced : null}
        </Text>
      ))}
      <Anchor component={Link} href="/webhooks" size="sm" c="inherit" underline="always">
        {texts.toWebhooks}
      </Anchor>
    </Note>
  );
}
