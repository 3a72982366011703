"""The front desk of a CRM: written down before it is answered, done once, handed to a person."""
