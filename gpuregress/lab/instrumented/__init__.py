"""Operations on runs that are watched while they execute."""
