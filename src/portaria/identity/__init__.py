"""Who: organizations, users, members, their sign-ins, and the keys that protect what is secret.

What is authoritative: `user_organizations` decides who may do what, read anew for every request; a
token or a browser session only says who signed in and at which `users.sessions_epoch`. Raising the
epoch ends all of them at once. A revoked membership stays as a row: history points to it.
"""
